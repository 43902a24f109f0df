"""What changed between two checkpoints, as text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from ...linters.checkpoint.difference import LeafChange, ValueStatistics
from ...linters.cut import shown
from ..pipeline.checkpoint_diff import CheckpointDiff
from .columns import Columns
from .printable import one_line
from .text import to_text
from .wrap import sentences

_MOST = 200
_ORDER = ("removed", "added", "shape", "dtype", "content")


def text(diff: CheckpointDiff, width: int) -> str:
    """The verdict, a line for each leaf that is another, and a table of values, those that are furthest apart first."""
    others = sorted(
        (each for each in diff.changes if each.values is None), key=lambda each: (_ORDER.index(each.kind), each.path)
    )
    values = [(each.path, each.values) for each in diff.changes if each.values is not None]
    values.sort(key=lambda each: (-each[1].relative, each[0]))
    parts = _lines(list(map(_line, others)), width)
    if values:
        left = len(values) - _MOST
        parts += ["", _table(values[:_MOST]), *([f"and {left:,} more"] if left > 0 else [])]
    read = ", read as the fill value" if diff.values else ""
    sides = {"a": diff.a, "b": diff.b}
    holes = [f"not stored {hole.path}: in {sides[hole.side]} {hole.what}{read}" for hole in diff.holes]
    parts += _lines(holes, width)
    first = Text(sentences(one_line(f"{diff.a} and {diff.b}: {diff.verdict}."), width), no_wrap=True)
    return to_text(parts, width, False, first)


def _lines(lines: Sequence[str], width: int) -> list[RenderableType]:
    told = [Text(sentences(one_line(each), width, "    "), no_wrap=True) for each in shown(lines, _MOST)]
    return ["", *told] if told else []


def _line(change: LeafChange) -> str:
    told = " -> ".join(each for each in (change.before, change.after) if each is not None)
    return f"{change.kind} {change.path}: {told}"


def _table(values: Sequence[tuple[str, ValueStatistics]]) -> Columns:
    """A row for each leaf whose values differ. NaN and infinities have a column where there are any."""
    odd = any(any(each.not_finite) for _, each in values)
    table = Columns()
    table.add_column("values of", overflow="fold")
    for heading in ("elements", "that differ", "|a - b| / |a|", "max |a - b|", *(["not finite"] if odd else [])):
        table.add_column(heading, justify="right")
    for path, each in values:
        table.add_row(
            one_line(path),
            f"{each.elements:,}",
            f"{each.different:,}",
            f"{each.relative:.3g}",
            f"{each.largest:.3g}",
            *([f"{each.not_finite[0]:,} and {each.not_finite[1]:,}"] if odd else []),
        )
    return table
