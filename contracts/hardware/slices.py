"""The TPU slices that there are, as Google publishes them: compilers know shapes that nobody can have.

Flat kinds come in a list of shapes. Of the others a slice up to 4 x 4 x 4 chips lies inside of a cube, and a larger one
is made of whole cubes (v4: cloud.google.com/tpu/docs/types-topologies). Sizes are given in any order: which dimension
of the machine is named first is the compiler's convention.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

_DOCS = "https://cloud.google.com/tpu/docs/"
_LITE = ((1, 1), (2, 2), (2, 4), (4, 4), (4, 8), (8, 8), (8, 16), (16, 16))

FLAT: dict[str, tuple[tuple[int, int], ...]] = {
    "v2": ((2, 2), (4, 4), (8, 8), (8, 16), (16, 16)),
    "v3": ((2, 2), (4, 4), (4, 8), (8, 8), (8, 16), (16, 16), (16, 32), (32, 32)),
    "v5e": _LITE,
    "v6e": _LITE,
}
"""Kind -> chips per dimension of each slice, smallest first."""

CUBES: dict[str, int] = {"v4": 4096, "v5p": 8960, "7x": 9216}
"""Kind -> chips of a whole pod, which is made of cubes of 4 x 4 x 4."""
CUBE = 4
_INSIDE = (1, 2, 4)


def no_such_slice(kind: str, sizes: Sequence[int]) -> str | None:
    """Why no slice of a TPU kind has `sizes` chips per dimension; None where one has, and for other kinds."""
    if kind in FLAT:
        if tuple(sorted(sizes)) in FLAT[kind]:
            return None
        listed = ", ".join("x".join(map(str, shape)) for shape in FLAT[kind])
        return f"slices of {kind} have {listed} chips ({_DOCS}{kind})"
    if kind not in CUBES:
        return None
    page = f"{_DOCS}{'tpu7x' if kind == '7x' else kind}"
    if len(sizes) != 3:
        return f"slices of {kind} have three dimensions, as in 2x2x1 or 4x4x8 ({page})"
    if not all(size in _INSIDE for size in sizes) and any(size % CUBE for size in sizes):
        return f"slices of {kind} have 1, 2 or 4 chips in each dimension, or multiples of 4 in all ({page})"
    if prod(sizes) > CUBES[kind]:
        return f"{prod(sizes):,} chips are more than the {CUBES[kind]:,} of a whole pod of {kind} ({page})"
    return None
