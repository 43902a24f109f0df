"""Hot spots of one program: what one kernel would save, the largest first; equal ones of an unrolled program as one."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from ...contracts.model import format_bytes
from ...hlo_tools.hotspots import HotSpot, HotSpots
from ...hlo_tools.scope import scope_of
from .ledger_markdown import folded, table
from .ledger_text import table_of, tail
from .markdown import escape
from .printable import counted_once, one_line, plural
from .text import to_text

SHOWN_ROWS = 20
WIDEST = 120
NOT_FINAL = (
    "The program is not optimised yet: every instruction counts as a kernel that reads and writes memory. What is left "
    "after fusion is less."
)


@dataclass(frozen=True, slots=True)
class Alike:
    """Hot spots of one kind, shape and line, as one."""

    first: HotSpot
    places: int
    count: int
    moved_bytes: int
    least_bytes: int

    @property
    def saved_bytes(self) -> int:
        return self.moved_bytes - self.least_bytes


def hot_spots_text(found: HotSpots, width: int, color: bool = False) -> str:
    """The answer in the first line, then each hot spot with what it moves, what it must, and what to use instead."""
    rows = alike(found)
    wide = width >= WIDEST
    each = table_of(
        ("Hot spot", *(("at",) if wide else ())),
        ("runs", "moves now", "at least", "saves"),
        ("array", "source", *(("scope",) if wide else ())),
    )
    for row in rows[:SHOWN_ROWS]:
        cells = [one_line(row.first.kind)]
        cells += [one_line(_name(row))] if wide else []
        cells += [f"{row.count:,}", *_sizes(row)]
        cells += [one_line(row.first.shape), tail(row.first.source or "", 34 if wide else 16)]
        cells += [tail(scope_of(row.first.scope), 24)] if wide else []
        each.add_row(*cells)
    parts: list[RenderableType] = ["", each] if rows else []
    left = len(rows) - SHOWN_ROWS
    parts += (
        [Text(f"{plural(left, 'smaller hot spot')} not shown; --format json has all", style="dim")] if left > 0 else []
    )
    notes = dict.fromkeys((row.first.kind, row.first.note) for row in rows[:SHOWN_ROWS])
    parts += ["", *(Text(f"{kind}: {note}.") for kind, note in notes)] if notes else []
    parts += [Text(line, style="yellow") for line in _warnings(found)]
    return to_text(parts, width, color, Text(one_line(first_line(found))))


def hot_spots_markdown(found: HotSpots) -> str:
    """The answer, the largest as a table, all of them behind a fold."""
    parts = [f"### {escape(first_line(found))}"]
    columns = ("hot spot", "at", "runs", "moves now", "at least", "saves", "array", "source")
    rows = [
        (
            escape(row.first.kind),
            escape(_name(row)),
            f"{row.count:,}",
            *_sizes(row),
            escape(row.first.shape),
            escape(row.first.source or ""),
        )
        for row in alike(found)
    ]
    if rows:
        parts.append(table(columns, rows[:SHOWN_ROWS]))
        notes = dict.fromkeys((spot.kind, spot.note) for spot in found.rows)
        parts.append("\n".join(f"- {escape(kind)}: {escape(note)}" for kind, note in notes))
    if len(rows) > SHOWN_ROWS:
        parts.append(folded(plural(len(rows), "hot spot"), columns, rows))
    parts += [escape(line) for line in _warnings(found)]
    return "\n\n".join(parts) + "\n"


def first_line(found: HotSpots) -> str:
    """`jit_step: 5 hot spots, 1.20 GiB of 4.26 GiB moved in a step need not be; most by attention at model.py:48`."""
    if not found.rows:
        return f"{found.module}: no hot spot known here, of {format_bytes(found.hbm_bytes)} moved in a step"
    rows = alike(found)
    top = rows[0]
    where = f" at {top.first.source}" if top.first.source else f" in {top.first.name}"
    return (
        f"{found.module}: {plural(len(found.rows), 'hot spot')}, {format_bytes(found.saved_bytes)} of "
        f"{format_bytes(found.hbm_bytes)} that each device moves in a step need not be; most by "
        f"{top.first.kind}{where} ({format_bytes(top.saved_bytes)})"
    )


def alike(found: HotSpots) -> list[Alike]:
    """Those of one kind, shape and line together, the largest saving first."""
    groups: dict[tuple[str, str, str | None], list[HotSpot]] = {}
    for spot in found.rows:
        groups.setdefault((spot.kind, spot.shape, spot.source), []).append(spot)
    rows = [
        Alike(
            spots[0],
            len(spots),
            sum(spot.count for spot in spots),
            sum(spot.moved_bytes for spot in spots),
            sum(spot.least_bytes for spot in spots),
        )
        for spots in groups.values()
    ]
    return sorted(rows, key=lambda row: -row.saved_bytes)


def _name(row: Alike) -> str:
    more = f" and {row.places - 1:,} more" if row.places > 1 else ""
    return f"{row.first.name}{more}"


def _sizes(row: Alike) -> tuple[str, str, str]:
    return format_bytes(row.moved_bytes), format_bytes(row.least_bytes), format_bytes(row.saved_bytes)


def _warnings(found: HotSpots) -> list[str]:
    lines = [] if found.scheduled else [NOT_FINAL]
    if found.unknown_loops:
        lines.append(counted_once(found.unknown_loops))
    return lines
