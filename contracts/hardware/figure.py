"""A published number and where it is published; a device as the sum of such numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GIB = 1024**3
GB = 1000**3
TERA = 1000**4

Rate = Literal["bf16", "fp8", "int8", "tf32", "f32"]
"""What matrix units publish a peak for; each operand type is counted at one of these (`rate_of`)."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure as its vendor prints it, per chip. `note` says how the value follows from what is printed there."""

    value: float
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Peak:
    """Peak of the matrix units for operands of one type, in floating-point (or integer) operations a second."""

    rate: Rate
    figure: Figure


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """One kind of device.

    `hbm_bytes` is the memory of one jax device (None: no fixed size). A chip of TPU v2, v3 and 7x is two jax devices
    with half of its memory each; from v4 to v6e it is one. `source` is where the number is published. `given` is what
    the compiler gives a program of it, where it says so: that is what a program has to fit in (`program_bytes`).

    Rates are per chip, as published, in bytes or operations a second; `share` gives one device's part. `link` is one
    way of one link between neighbouring chips of a torus (TPU) or of everything that joins a GPU to its host's others;
    `network` is one way to other slices or hosts. A dimension of a TPU slice closes to a ring where its size is a
    multiple of `ring`. None: not published, so nothing is bounded by it.
    """

    platform: Literal["cpu", "tpu", "cuda"]
    name: str
    hbm_bytes: int | None
    source: str
    given: Figure | None = None
    devices_per_chip: int = 1
    peaks: tuple[Peak, ...] = ()
    hbm_rate: Figure | None = None
    link: Figure | None = None
    network: Figure | None = None
    ring: int = 0

    @property
    def program_bytes(self) -> int | None:
        """What a program has to fit in on one device: what the compiler gives it, else the published memory."""
        return self.hbm_bytes if self.given is None else round(self.given.value)

    @property
    def program_source(self) -> str:
        """Where `program_bytes` comes from."""
        return self.source if self.given is None else self.given.source

    def peak(self, rate: Rate) -> Figure | None:
        """The chip's peak for one type, where it is published."""
        return next((peak.figure for peak in self.peaks if peak.rate == rate), None)

    def share(self, figure: Figure) -> float:
        """One jax device's part of a figure per chip."""
        return figure.value / self.devices_per_chip
