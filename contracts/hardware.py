"""What a device of each kind has, as its vendor publishes it. Bytes are per jax device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GIB = 1024**3
GB = 1000**3


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """One kind of device.

    `hbm_bytes` is the memory of one jax device (None: no fixed size). A chip of TPU v2, v3 and 7x is two jax devices
    with half of its memory each; from v4 to v6e it is one. Compilers keep a part for themselves (libtpu leaves 15.75
    GiB of the 16 on v5e), so the whole is an upper bound. `source` is where the number is published.
    """

    platform: Literal["cpu", "tpu", "cuda"]
    name: str
    hbm_bytes: int | None
    source: str
    devices_per_chip: int = 1


_TPU = "https://cloud.google.com/tpu/docs/"
_NVIDIA = "https://www.nvidia.com/en-us/data-center/"

DEVICES: tuple[DeviceKind, ...] = (
    DeviceKind("cpu", "cpu", None, "host memory, not a property of the kind"),
    DeviceKind("tpu", "v2", 8 * GIB, f"{_TPU}v2", devices_per_chip=2),
    DeviceKind("tpu", "v3", 16 * GIB, f"{_TPU}v3", devices_per_chip=2),
    DeviceKind("tpu", "v4", 32 * GIB, f"{_TPU}v4"),
    DeviceKind("tpu", "v5e", 16 * GIB, f"{_TPU}v5e"),
    DeviceKind("tpu", "v5p", 95 * GIB, f"{_TPU}v5p"),
    DeviceKind("tpu", "v6e", 32 * GIB, f"{_TPU}v6e"),
    DeviceKind("tpu", "7x", 96 * GIB, f"{_TPU}tpu7x", devices_per_chip=2),
    DeviceKind("cuda", "a100", 80 * GIB, f"{_NVIDIA}a100/"),
    DeviceKind("cuda", "h100", 80 * GIB, f"{_NVIDIA}h100/"),
    DeviceKind("cuda", "h200", 141 * GB, f"{_NVIDIA}h200/"),
    DeviceKind("cuda", "b200", 192 * GB, f"{_NVIDIA}dgx-b200/"),
)

_BY_NAME = {(device.platform, device.name): device for device in DEVICES}


def kinds(platform: str) -> list[str]:
    """Names of the known kinds of one platform."""
    return [device.name for device in DEVICES if device.platform == platform]


def device_kind(platform: str, name: str) -> DeviceKind:
    """The kind with this name. Raises KeyError."""
    return _BY_NAME[platform, name]
