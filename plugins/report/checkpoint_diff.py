"""What changed between two checkpoints, as text."""

from __future__ import annotations

from ...linters.cut import shown
from ..pipeline.checkpoint_diff import CheckpointDiff, LeafChange
from .wrap import sentences

_MOST = 200


def text(diff: CheckpointDiff, width: int) -> str:
    """The verdict, then a line or two for each leaf, those that are furthest apart first."""
    lines = [sentences(f"{diff.a} and {diff.b}: {diff.verdict}.", width)]
    order = ("removed", "added", "shape", "dtype", "values")
    changes = sorted(diff.changes, key=lambda each: (order.index(each.kind), -_apart(each), each.path))
    lines += shown((sentences(_line(each), width, "    ") for each in changes), _MOST)
    read = ", read as the fill value" if diff.values else ""
    sides = {"a": diff.a, "b": diff.b}
    holes = (f"not stored {hole.path}: in {sides[hole.side]} {hole.what}{read}" for hole in diff.holes)
    lines += shown((sentences(each, width, "    ") for each in holes), _MOST)
    return "\n".join(lines) + "\n"


def _apart(change: LeafChange) -> float:
    return change.values.relative if change.values is not None else 0.0


def _line(change: LeafChange) -> str:
    values = change.values
    if values is None:
        told = " -> ".join(each for each in (change.before, change.after) if each is not None)
        return f"{change.kind} {change.path}: {told}"
    odd = f", NaN or infinite: {values.not_finite[0]:,} and {values.not_finite[1]:,}" if any(values.not_finite) else ""
    return (
        f"{change.kind} {change.path}: {values.different:,} of {values.elements:,} elements, "
        f"relative {values.relative:.3g}, largest {values.largest:.3g}{odd}"
    )
