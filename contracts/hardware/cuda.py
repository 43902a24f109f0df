"""NVIDIA's data-centre GPUs (SXM), as NVIDIA publishes them; matrix peaks without structured sparsity.

The network is that of NVIDIA's own DGX system, one adapter for each GPU; other clouds have less or more.
"""

from __future__ import annotations

from .figure import GB, GIB, TERA, DeviceKind, Figure, Peak, Rate

_SITE = "https://www.nvidia.com/en-us/data-center/"
_DGX = "https://docs.nvidia.com/dgx/"


def _peaks(page: str, note: str = "", **tera: float) -> tuple[Peak, ...]:
    names: dict[str, Rate] = {"bf16": "bf16", "fp8": "fp8", "int8": "int8", "tf32": "tf32", "f32": "f32"}
    return tuple(Peak(names[key], Figure(value * TERA, f"{_SITE}{page}", note)) for key, value in tera.items())


def _nvlink(both_ways: float, page: str) -> Figure:
    return Figure(both_ways * GB / 2, f"{_SITE}{page}", f"{both_ways:g} GB/s in both directions")


def _adapter(gigabits: float, page: str) -> Figure:
    return Figure(gigabits * GB / 8, f"{_DGX}{page}", f"one adapter of {gigabits:g} Gbit/s for each GPU")


_DENSE = "half of the figure with sparsity"

GPUS: tuple[DeviceKind, ...] = (
    DeviceKind(
        "cuda",
        "a100",
        80 * GIB,
        f"{_SITE}a100/",
        peaks=_peaks("a100/", bf16=312, tf32=156, f32=19.5, int8=624),
        hbm_rate=Figure(2039 * GB, f"{_SITE}a100/"),
        link=_nvlink(600, "a100/"),
        network=_adapter(200, "dgxa100-user-guide/"),
    ),
    DeviceKind(
        "cuda",
        "h100",
        80 * GIB,
        f"{_SITE}h100/",
        peaks=_peaks("h100/", _DENSE, bf16=989.5, fp8=1979, int8=1979, tf32=494.7, f32=67),
        hbm_rate=Figure(3350 * GB, f"{_SITE}h100/"),
        link=_nvlink(900, "h100/"),
        network=_adapter(400, "dgxh100-user-guide/"),
    ),
    DeviceKind(
        "cuda",
        "h200",
        141 * GB,
        f"{_SITE}h200/",
        peaks=_peaks("h200/", _DENSE, bf16=989.5, fp8=1979, int8=1979, tf32=494.7, f32=67),
        hbm_rate=Figure(4800 * GB, f"{_SITE}h200/"),
        link=_nvlink(900, "h200/"),
        network=_adapter(400, "dgxh100-user-guide/"),
    ),
    DeviceKind(
        "cuda",
        "b200",
        180 * GB,
        f"{_SITE}dgx-b200/",
        peaks=_peaks("hgx/", _DENSE, bf16=2250, fp8=4500, int8=4500, tf32=1125, f32=80),
        hbm_rate=Figure(8000 * GB, f"{_SITE}dgx-b200/", "64 TB/s for eight GPUs"),
        link=_nvlink(1800, "dgx-b200/"),
        network=_adapter(400, "dgxb200-user-guide/"),
    ),
)
