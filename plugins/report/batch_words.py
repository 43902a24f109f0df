"""What the views of a batch say in words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from ..pipeline.batch import RowView
from .printable import one_line, plural


def headline(view: RowView) -> str:
    """`batch.npz row 0: 3 documents, 14 of 16 tokens are text, 11 targets count`."""
    text = sum(span.stop - span.start for span in view.spans)
    columns = view.facts.columns
    said = f"{plural(len(view.spans), 'document')}, {text:,} of {columns:,} tokens are text" if view.spans else ""
    counts = sum(stop - start for start, stop in view.counted)
    targets = f"{plural(counts, 'target')} count{'s' * (counts == 1)}" if view.denominator is not None else ""
    parts = ", ".join(part for part in (said or plural(columns, "token"), targets) if part)
    return one_line(f"{view.batch} row {view.row}: {parts}")


def facts(view: RowView) -> list[str]:
    """The batch as a whole, a line for each thing that is known."""
    known = view.facts
    lines = [f"{plural(known.rows, 'row')} of {plural(known.columns, 'column')}"]
    if known.padding is not None:
        lines[0] += f", {known.padding:.1%} padding"
    if known.documents is not None:
        documents = plural(known.documents, "document")
        if known.duplicates:
            documents += f", {known.duplicates:,} of them copies of another"
        if known.cut is not None:
            documents += f", {known.cut:,} cut at the end of a row"
        lines.append(documents)
    if known.denominator is not None:
        count = known.counted or 0
        said = f"{plural(count, 'target')} count{'s' * (count == 1)}"
        lines.append(f"{said}; the mean loss is divided by {known.denominator:,g}")
    lines += map(one_line, view.inferred)
    row = view.row_facts
    said = [f"{row.padding:.1%} padding"] if row.padding else []
    if row.copies:
        said.append(f"{plural(row.copies, 'document')} that the batch has twice")
    said += ["the last document is cut"] if row.cut else []
    if said:
        lines.append(f"this row: {', '.join(said)}")
    if view.tokenizer is not None:
        strange = view.pieces.count(None)
        left = (
            f"; {plural(strange, 'token')} of this row {'is' if strange == 1 else 'are'} not in it" if strange else ""
        )
        lines.append(one_line(f"pieces by {view.tokenizer}{left}"))
    return lines


def pieces(view: RowView, most: int) -> list[str]:
    """The text of each token, on at most `most` cells; `?` in brackets for an id that the tokenizer does not have."""
    return ["(?)" if piece is None else _seen(piece, most) for piece in view.pieces]


_IN_SIGHT = str.maketrans({" ": "\u00b7", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def _seen(piece: str, most: int) -> str:
    """Spaces are dots, whatever breaks a line or moves the cursor its escape; a longer one ends with three dots."""
    whole = len(piece) <= most * 4
    seen = one_line(piece[: most * 4].translate(_IN_SIGHT))
    if whole and cell_len(seen) <= most:
        return seen
    while cell_len(seen) > most - 3:
        seen = seen[:-1]
    return seen + "..."


def visible(view: RowView) -> str:
    """`the query at column 7 sees 2 keys: 6 to 7`."""
    keys = sum(stop - start for start, stop in view.visible)
    listed = f": columns {ranges(view.visible)}" if keys else ""
    return f"the query at column {view.query} sees {plural(keys, 'key')}{listed}"


def ranges(runs: Sequence[tuple[int, int]], most: int = 40) -> str:
    """`0 to 4, 6`; both ends are included."""
    shown = [str(start) if stop - start == 1 else f"{start} to {stop - 1}" for start, stop in runs[:most]]
    return ", ".join(shown) + (f" and {len(runs) - most:,} more" if len(runs) > most else "")
