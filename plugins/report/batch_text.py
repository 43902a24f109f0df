"""A row of a batch for people at a terminal: one column for each token, as many to a line as fit."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from ...contracts.model import Role
from ..pipeline.batch import RowView
from .batch_words import facts, headline, pieces, ranges, visible
from .wrap import sentences

LABELS: dict[Role, str] = {
    "tokens": "token",
    "segment_ids": "segment",
    "attention_mask": "attended",
    "positions": "position",
    "targets": "target",
    "loss_mask": "loss mask",
    "loss_weights": "weight",
}
"""In the order in which a reader follows a token."""
_LABEL = max(map(len, LABELS.values())) + 2
_SHOWN = 512
_PIECE = 16
"""Cells for the text of a token."""


def text(view: RowView, width: int) -> str:
    """The answer, the batch, the documents, then the tokens; lines of at most `width` columns."""
    lines = [headline(view), *(sentences(f"  {line}", width, hanging="  ") for line in facts(view))]
    if view.query is not None:
        lines.append(f"  {visible(view)}")
    if view.spans:
        lines += ["", "Documents"]
        lines += [
            f"  segment {span.segment}: columns {ranges([(span.start, span.stop)])} ({span.stop - span.start} tokens)"
            for span in view.spans[:40]
        ]
        if len(view.spans) > 40:
            lines.append(f"  and {len(view.spans) - 40:,} more")
    lines.append("")
    return "\n".join([*lines, *_columns(view, width)]) + "\n"


def _columns(view: RowView, width: int) -> Iterator[str]:
    """Blocks of columns; documents are set apart by a bar."""
    shown = min(view.facts.columns, _SHOWN)
    starts = {span.start for span in view.spans} | {span.stop for span in view.spans}
    cells = {LABELS[role]: [_number(value) for value in view.fields[role]] for role in LABELS if role in view.fields}
    cells = {"column": [str(column) for column in range(view.facts.columns)], **cells}
    if view.pieces:
        cells = {"column": cells.pop("column"), "piece": pieces(view, _PIECE), **cells}
    widths = [max(cell_len(values[column]) for values in cells.values()) for column in range(shown)]
    begin = 0
    while begin < shown:
        end, used = begin, _LABEL
        while end < shown and (end == begin or used + widths[end] + 2 <= width):
            used += widths[end] + 2
            end += 1
        for label, values in cells.items():
            parts = [
                ("| " if column in starts and column > begin else "  ") + _right(values[column], widths[column])
                for column in range(begin, end)
            ]
            yield (label.ljust(_LABEL) + "".join(parts)).rstrip()
        begin = end
        if begin < shown:
            yield ""
    if shown < view.facts.columns:
        yield f"and {view.facts.columns - shown:,} more columns; --format json has all"


def _right(text: str, width: int) -> str:
    """To the right of `width` cells: letters may take none or two of them."""
    return " " * (width - cell_len(text)) + text


def _number(value: int | float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"
