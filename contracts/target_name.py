"""How a target is spelled: `cpu:8`, `tpu:v5e:4x4`, `cuda:h100:32x8`; its dimensions give the number of devices.

`tpu:v5e:16x16:slices=2` is two slices of that shape, joined by the data-centre network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Literal

from .hardware import DeviceKind, device_kind, kinds, no_such_host, no_such_slice

Platform = Literal["cpu", "tpu", "cuda"]

PLATFORMS: tuple[Platform, ...] = ("cpu", "tpu", "cuda")
MOST_CPUS = 2048
"""More simulated devices, and XLA's CPU client takes the job for a multi-process one and refuses it."""
MOST_DEVICES = 1 << 18
"""As many as the largest machines that were ever announced; more is a slip, and would compile for hours."""
EXAMPLES = "cpu:8, tpu:v5e:4x4, cuda:h100:1x8"

LISTED = "`contract-lint targets` lists what there is"

_SIZES = re.compile(r"[1-9][0-9]{0,5}(?:x[1-9][0-9]{0,5}){0,3}")
_SPELLED = {
    "tpu": "tpu:KIND:SIZES with chips per dimension, as in tpu:v5e:4x4",
    "cuda": "cuda:KIND:HOSTSxGPUS, as in cuda:h100:1x8",
}
_SLICES = re.compile(r"slices=([1-9][0-9]{0,3})")


@dataclass(frozen=True, slots=True)
class TargetName:
    """A parsed target. `sizes` are chips per dimension of one slice (TPU) or hosts x GPUs (CUDA)."""

    text: str
    platform: Platform
    kind: DeviceKind
    sizes: tuple[int, ...]
    slices: int = 1

    @property
    def devices(self) -> int:
        """Devices as jax counts them."""
        return prod(self.sizes) * self.kind.devices_per_chip * self.slices

    @property
    def groups(self) -> int:
        """Parts joined by the data-centre network: slices of a TPU target, hosts of a CUDA one."""
        return self.sizes[0] if self.platform == "cuda" else self.slices


def parse_target(text: str) -> TargetName:
    """The parts of a target's name. Raises ValueError with what is expected."""
    platform, *rest = text.split(":")
    if platform not in PLATFORMS:
        raise ValueError(f"expected a platform of {', '.join(PLATFORMS)}, as in {EXAMPLES}")
    if platform == "cpu":
        if len(rest) != 1 or not re.fullmatch(r"[1-9][0-9]{0,5}", rest[0]) or int(rest[0]) > MOST_CPUS:
            raise ValueError(f"expected cpu:N with N from 1 to {MOST_CPUS}, as in cpu:8")
        return TargetName(text, "cpu", device_kind("cpu", "cpu"), (int(rest[0]),))
    slices = 1
    if platform == "tpu" and len(rest) == 3:
        match = _SLICES.fullmatch(rest.pop())
        if match is None:
            raise ValueError("expected slices=N at the end, as in tpu:v5e:16x16:slices=2")
        slices = int(match[1])
        if slices == 1:
            raise ValueError("expected slices=2 or more: one slice is written without, as in tpu:v5e:16x16")
    if len(rest) != 2 or not _SIZES.fullmatch(rest[1]):
        raise ValueError(f"expected {_SPELLED[platform]}")
    try:
        kind = device_kind(platform, rest[0])
    except KeyError as error:
        raise ValueError(f"expected {platform} of kind {', '.join(kinds(platform))}") from error
    sizes = tuple(int(size) for size in rest[1].split("x"))
    if platform == "cuda" and len(sizes) != 2:
        raise ValueError(f"expected {_SPELLED[platform]}")
    return TargetName(text, kind.platform, kind, sizes, slices)


def no_such_machine(target: TargetName) -> str | None:
    """Why there is no machine of the sizes that a target names; None where there is one."""
    if target.devices > MOST_DEVICES:
        return f"{target.devices:,} devices are more than any machine has ({MOST_DEVICES:,} are the most)"
    if target.platform == "tpu":
        return no_such_slice(target.kind.name, target.sizes)
    return no_such_host(target.kind.name, target.sizes[1]) if target.platform == "cuda" else None
