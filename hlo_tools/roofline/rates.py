"""Which published peak a type of operand can run at."""

from __future__ import annotations

from ...contracts.hardware import DeviceKind, Figure, Rate

_CHOICES: dict[str, tuple[Rate, ...]] = {
    "f8": ("fp8", "bf16"),
    "f4": ("fp8", "bf16"),
    "f6": ("fp8", "bf16"),
    "s8": ("int8", "bf16"),
    "u8": ("int8", "bf16"),
    "s4": ("int8", "bf16"),
    "u4": ("int8", "bf16"),
}
_WIDE: dict[str, tuple[Rate, ...]] = {"tpu": ("bf16",), "cuda": ("tf32", "f32")}


def peak_for(kind: DeviceKind, dtype: str) -> tuple[Rate, Figure] | None:
    """The fastest published peak for operands of an HLO type (`bf16`, `f32`, `f8e4m3fn`); None where there is none.

    TPUs publish no f32 peak: f32 products run as passes of bf16, at best one. On GPUs they may run as TF32.
    """
    choices = _CHOICES.get(dtype[:2]) if dtype[:2] in _CHOICES and dtype not in ("f64",) else None
    if choices is None:
        choices = ("bf16",) if dtype in ("bf16", "f16") else _WIDE.get(kind.platform, ())
    for rate in choices:
        figure = kind.peak(rate)
        if figure is not None:
            return rate, figure
    return None
