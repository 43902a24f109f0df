"""A memory ledger at a terminal: the verdict, what to do, what must fit, the peak by class and line, every buffer."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...contracts.model import format_bytes
from ...hlo_tools.memory import MemoryLedger
from .ledger_text import SHOWN_ROWS, WIDE, left_out, sparkline, table_of, tail
from .memory_words import NO_LINE, NO_SCOPE, apart, class_name, headline, note, peak_place, sums
from .printable import one_line, others
from .text import to_text

SHOWN_SHARES = 10


def memory_text(ledger: MemoryLedger, width: int, color: bool = False) -> str:
    """What must fit, what would shrink the peak, the peak by class and by line, the timeline, and the buffers."""
    fits = table_of(("Must fit",), ("bytes",))
    for name, size in sums(ledger):
        fits.add_row(name, size)
    parts: list[RenderableType] = ["", fits, *map(Text, apart(ledger))]
    said = note(ledger)
    if said is not None:
        parts.append(Text(said, style="yellow"))
    if not ledger.buffers:
        return to_text(parts, width, color, Text(headline(ledger)))
    parts += _actions(ledger)
    classes = [(class_name(name), size) for name, size in ledger.by_class.items()]
    parts += ["", _shares("At the peak, by class", classes, ledger.peak_bytes)]
    lines = [(source or NO_LINE, size) for source, size in ledger.by_source]
    parts += ["", _shares("By source line", lines, ledger.peak_bytes, SHOWN_SHARES)]
    scopes = [(scope or NO_SCOPE, size) for scope, size in ledger.by_scope]
    if any(buffer.scope for buffer in ledger.buffers):
        parts += ["", _shares("By scope or argument", scopes, ledger.peak_bytes, SHOWN_SHARES)]
    curve = sparkline(ledger.timeline, min(width, 120) - 2)
    if curve:
        parts += ["", Text(f"Live bytes over the schedule ({peak_place(ledger)})", style="bold"), Text(curve)]
    parts += ["", _buffers(ledger, width >= WIDE), *left_out(len(ledger.buffers), "buffer")]
    return to_text(parts, width, color, Text(headline(ledger)))


def _actions(ledger: MemoryLedger) -> list[RenderableType]:
    """What would shrink the peak, each done alone."""
    if not ledger.actions:
        return []
    table = table_of(("Each of these alone would shrink it",), ("peak falls by",))
    for action in ledger.actions:
        table.add_row(one_line(action.text), format_bytes(action.frees_bytes))
    return ["", table]


def _buffers(ledger: MemoryLedger, wide: bool) -> Table:
    """The largest buffers; the column of padding is there where anything is padded."""
    padded = any(buffer.bytes > buffer.unpadded_bytes for buffer in ledger.buffers)
    numbers = ("bytes", "padding") if padded else ("bytes",)
    each = table_of(("Live at the peak", "class"), numbers, ("shape", *(("source",) if wide else ())))
    for buffer in ledger.buffers[:SHOWN_ROWS]:
        argument = buffer.source is None and buffer.first == 0 and buffer.scope
        wasted = buffer.bytes - buffer.unpadded_bytes
        each.add_row(
            one_line(buffer.scope if argument else buffer.name),
            class_name(buffer.class_),
            format_bytes(buffer.bytes),
            *((format_bytes(wasted) if wasted else "-",) if padded else ()),
            one_line(buffer.shape),
            *((tail(buffer.source or "", 34),) if wide else ()),
        )
    return each


def _shares(title: str, rows: Iterable[tuple[str, int]], whole: int, limit: int | None = None) -> Table:
    """The largest `limit` parts; the others together in one row."""
    table = table_of((title,), ("bytes", "share"))
    every = list(rows)
    shown, rest = every[:limit], every[limit:] if limit else []
    if rest:
        shown.append((others(len(rest)), sum(size for _, size in rest)))
    for name, size in shown:
        table.add_row(one_line(name), format_bytes(size), f"{100 * size / (whole or 1):.1f} %")
    return table
