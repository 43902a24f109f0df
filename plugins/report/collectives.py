"""The collectives of a program: totals by kind and axes, how much runs beside other work, then every row."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from ...contracts.model import format_bytes
from ...hlo_tools.collectives import Collective, CollectiveLedger
from ...hlo_tools.in_flight import InFlight
from ...hlo_tools.scope import scope_of
from .cells import axes
from .ledger_markdown import folded, table
from .ledger_text import SHOWN_ROWS, WIDE, left_out, numbers, only_elsewhere, ring_bytes, table_of, tail, unnamed_axes
from .markdown import escape
from .printable import counted_once, one_line, plural
from .text import to_text

WIDEST = 120
_SCOPE = 20
"""Characters of a scope; where none is known the line of source has them."""

Placed = tuple[Collective, InFlight | None]


def collectives_text(ledger: CollectiveLedger, width: int, color: bool = False) -> str:
    """Totals by kind and axes, then every collective, largest traffic first; narrow reports leave out the scope, and
    the kind where the name says it."""
    totals = ledger.totals()
    sent = sum(total.ring_bytes for total in totals)
    count = sum(total.count for total in totals)
    first = f"{one_line(ledger.module)}: {plural(count, 'collective')} a step, {format_bytes(sent)} sent by each device"
    if totals:
        top = max(totals, key=lambda total: total.ring_bytes)
        over = "" if top.axes is None else f" over {axes(top.axes)}"
        first += f"; most by {top.kind}{over} ({format_bytes(top.ring_bytes)})"
    each_kind = table_of(("Totals", "axes"), ("count", "elements", "ring bytes"))
    for total in sorted(totals, key=lambda total: -total.ring_bytes):
        cells = numbers(total.count, total.elements)
        each_kind.add_row(total.kind, one_line(axes(total.axes)), *cells, ring_bytes(total))
    placed = _placed(ledger)
    rows = sorted(placed, key=lambda pair: (-pair[0].ring_bytes, pair[0].order))
    wide, widest = width >= WIDE, width >= WIDEST
    scoped = wide and any(scope_of(row.scope) for row, _ in rows[:SHOWN_ROWS])
    room = (16 if not wide else 24 if widest else 34) + (_SCOPE if wide and not scoped else 0)
    each = table_of(
        ("Collective", *(("kind",) if wide else ()), "axes"),
        ("count", "elements", "ring bytes"),
        (*(("meanwhile",) if widest else ()), "source", *(("scope",) if scoped else ())),
    )
    for row, flight in rows[:SHOWN_ROWS]:
        name, *cells = _collective(row, wide)
        last = [one_line(meanwhile(flight))] if widest else []
        last += [tail(row.source or "", room)]
        last += [tail(scope_of(row.scope), _SCOPE)] if scoped else []
        each.add_row(name, *cells, *last)
    parts: list[RenderableType] = ["", each_kind] if totals else []
    if (said := beside_work(placed)) is not None:
        parts += ["", Text(said)]
    if (said := only_elsewhere(ledger)) is not None:
        parts += ["", Text(said)]
    parts += ["", each] if totals else []
    parts += left_out(len(rows), "collective")
    parts += unnamed_axes(ledger)
    if ledger.unknown_loops:
        parts += ["", Text(counted_once(ledger.unknown_loops), style="yellow")]
    return to_text(parts, width, color, Text(first))


def collectives_markdown(ledger: CollectiveLedger) -> str:
    """Totals by kind and axes, then every collective."""
    totals = [
        (escape(t.kind), escape(axes(t.axes)), f"{t.count:,}", f"{t.elements:,}", format_bytes(t.ring_bytes))
        for t in ledger.totals()
    ]
    placed = _placed(ledger)
    rows = [
        (
            escape(row.name),
            escape(row.kind),
            escape(axes(row.axes)),
            _count(row),
            f"{row.loop_depth:,}",
            f"{row.elements:,}",
            f"{row.dtype} (promoted)" if row.promoted else row.dtype,
            format_bytes(row.ring_bytes),
            escape(meanwhile(flight)),
            escape(row.source or ""),
        )
        for row, flight in placed
    ]
    head = f"### Collectives of {escape(ledger.module)} on {plural(ledger.devices, 'device')}"
    parts = [head, table(("kind", "axes", "count", "elements", "ring bytes"), totals)]
    if (said := beside_work(placed)) is not None:
        parts.append(said)
    if (said := only_elsewhere(ledger)) is not None:
        parts.append(escape(said))
    columns = ("name", "kind", "axes", "count", "loops", "elements", "dtype", "ring bytes", "meanwhile", "source")
    parts.append(folded(plural(len(rows), "instruction"), columns, rows))
    return "\n\n".join(parts) + "\n"


def meanwhile(flight: InFlight | None) -> str:
    """What runs while a collective does: `2 products`, `3 kernels`, `-` where it is waited for."""
    if flight is None:
        return ""
    if flight.products:
        return plural(len(flight.products), "product")
    return plural(flight.meanwhile, "kernel") if flight.meanwhile else "-"


def beside_work(placed: list[Placed]) -> str | None:
    """How many collectives, and how much of what is sent, run beside other work; None without a schedule."""
    known = [
        (taken, flight) for row, flight in placed if flight is not None and (taken := row.on_dearest_path()) is not None
    ]
    if not known:
        return None
    hidden = [row for row, flight in known if flight.meanwhile]
    count, whole = sum(row.count for row in hidden), sum(row.count for row, _ in known)
    sent, all_sent = sum(row.ring_bytes for row in hidden), sum(row.ring_bytes for row, _ in known)
    return (
        f"As scheduled, {count:,} of {whole:,} executions run beside other work "
        f"({format_bytes(sent)} of {format_bytes(all_sent)} sent); the rest is waited for."
    )


def _placed(ledger: CollectiveLedger) -> list[Placed]:
    return list(zip(ledger.rows, ledger.schedule(), strict=True))


def _count(row: Collective) -> str:
    """Executions; under a conditional, the fewest and the most that a step can have."""
    return f"{row.count:,}" if row.count == row.count_min else f"{row.count_min:,}-{row.count:,}"


def _collective(row: Collective, wide: bool) -> tuple[str, ...]:
    name = one_line(row.name)
    cells = [name, row.kind] if wide else [name if name.startswith(row.kind) else f"{name} is {row.kind}"]
    cells += [one_line(axes(row.axes)), _count(row)]
    cells += [f"{row.elements:,} {row.dtype}{' (promoted)' if row.promoted and wide else ''}"]
    return (*cells, format_bytes(row.ring_bytes))
