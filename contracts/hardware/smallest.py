"""The smallest target of one kind of device that holds a program: what `v5e` or `h100` alone means for 256 devices."""

from __future__ import annotations

from math import prod

from .figure import DeviceKind
from .slices import CUBES, FLAT

GPUS_OF_A_HOST = 8


def smallest_target(kind: DeviceKind, devices: int) -> str:
    """`tpu:v5e:16x16` for 256 devices: of flat kinds the first published slice that is large enough, of the others
    the dimensions that are nearest to a cube, each a power of two; beyond one pod several of them. GPUs stand eight to
    a host."""
    if kind.platform == "cuda":
        hosts = -(-devices // GPUS_OF_A_HOST)
        return f"cuda:{kind.name}:{hosts}x{min(devices, GPUS_OF_A_HOST)}"
    chips = -(-devices // kind.devices_per_chip)
    shapes = list(FLAT.get(kind.name, ())) or _near_cubes(CUBES[kind.name])
    sizes = next((shape for shape in shapes if prod(shape) >= chips), shapes[-1])
    slices = -(-chips // prod(sizes))
    return f"tpu:{kind.name}:{'x'.join(map(str, sizes))}" + (f":slices={slices}" if slices > 1 else "")


def _near_cubes(most: int) -> list[tuple[int, ...]]:
    """1x1x1, 1x1x2, 1x2x2, 2x2x2, 2x2x4, ... up to `most` chips."""
    found: list[tuple[int, ...]] = [(1, 1, 1)]
    while 2 * prod(found[-1]) <= most:
        least, *others = found[-1]
        found.append(tuple(sorted((2 * least, *others))))
    return found
