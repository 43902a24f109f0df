"""The roofline of one program: the forecast, then the matrix products that cost most, by source line."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...hlo_tools.cost import Product
from ...hlo_tools.roofline import Path, Roofline
from ...hlo_tools.scope import scope_of
from ..pipeline.forecast import as_table
from .columns import Columns
from .forecast import duration, forecast_rows, forecast_text, si, sources, statements
from .ledger_markdown import folded, table
from .ledger_text import WIDE, table_of, tail
from .markdown import escape
from .memory_words import NO_SCOPE
from .printable import one_line, others, plural
from .text import to_text

SHOWN_PRODUCTS = 20
SHOWN_SCOPES = 8
SHOWN_OPERATIONS = 8
LONGEST = 50


def roofline_text(found: Roofline, width: int, color: bool = False) -> str:
    """The answer in the first line, the bound by resource, the largest products."""
    parts: list[RenderableType] = ["", *forecast_text(as_table(found))]
    if found.path is not None:
        parts += ["", _passing(found.path, width >= WIDE), Text(_spent(found.path))]
    if found.cost.products:
        parts += ["", _products(found, width >= WIDE)]
        left = len(found.cost.products) - SHOWN_PRODUCTS
        if left > 0:
            parts.append(Text(f"{plural(left, 'smaller product')} not shown; --format json has all", style="dim"))
    return to_text(parts, width, color, Text(one_line(_first(found))))


def roofline_markdown(found: Roofline) -> str:
    """The forecast as a table and sentences, what it rests on and the products behind folds."""
    forecast = as_table(found)
    parts = [f"### {escape(_first(found))}"]
    rows = [tuple(map(escape, row)) for row in forecast_rows(forecast)]
    if rows:
        parts.append(table(("forecast per device: a bound", "needs", "peak rate", "at least", ""), rows))
    lines = [*statements(forecast), *(f"assumed: {line}" for line in forecast.assumptions), *sources(forecast)]
    parts.append("\n".join(f"- {escape(line)}" for line in lines))
    if found.path is not None:
        parts.append(escape(_spent(found.path)))
        whole = found.path.seconds or 1.0
        scopes = [
            (escape(scope or NO_SCOPE), *_times(spent, whole, bound)) for scope, spent, bound in found.path.by_scope()
        ]
        parts.append(table(("time as scheduled", "at least", "share", "mostly"), scopes))
        longest = [
            (escape(each.name), *_times(each.seconds, whole, each.bound), f"{each.count:,}", escape(each.source or ""))
            for each in found.path.operations[:LONGEST]
        ]
        columns = ("operation", "at least", "share", "bound by", "executions", "source")
        count = len(found.path.operations)
        of = f", of {count:,}" if count > LONGEST else ""
        parts.append(folded(f"the {plural(len(longest), 'operation')} that take longest{of}", columns, longest))
    cells = [tuple(map(escape, _cells(product, found.cost.flops, True))) for product in found.cost.products]
    columns = ("product", "FLOP a step", "share", "executions", "result", "source", "scope")
    parts.append(folded(plural(len(cells), "matrix product"), columns, cells))
    return "\n\n".join(parts) + "\n"


def _first(found: Roofline) -> str:
    text = f"{found.cost.module}: {si(found.cost.flops)}FLOP a step on each of {plural(found.devices, 'device')}"
    if found.seconds is not None and found.binding is not None:
        said = f"at least {duration(found.seconds)}, bound by {found.binding.name}"
        text += f"; {said}" if found.made_for is None else f"; as compiled for {found.made_for} {said}"
        return f"{text}; {duration(found.path.seconds)} as scheduled" if found.path is not None else text
    return f"{text}; no time bound: {found.no_bound or 'no rate is published'}"


def _passing(path: Path, wide: bool) -> Table:
    """Where the time goes: by scope, and by operation."""
    table = table_of(("Time as scheduled",), ("at least", "share"), ("mostly", *(("source",) if wide else ())))
    whole = path.seconds or 1.0
    blank = ("",) if wide else ()
    scopes = path.by_scope()
    for scope, spent, bound in scopes[:SHOWN_SCOPES]:
        table.add_row(one_line(scope or NO_SCOPE), *_times(spent, whole, bound), *blank)
    _rest(table, [spent for _, spent, _ in scopes[SHOWN_SCOPES:]], whole, blank)
    table.add_section()
    for each in path.operations[:SHOWN_OPERATIONS]:
        source = (tail(each.source or "", 34),) if wide else ()
        table.add_row(one_line(each.name), *_times(each.seconds, whole, each.bound), *source)
    _rest(table, [each.seconds for each in path.operations[SHOWN_OPERATIONS:]], whole, blank)
    return table


def _rest(table: Table, seconds: list[float], whole: float, blank: tuple[str, ...]) -> None:
    """One row for all that have none of their own, so that a table adds up."""
    if seconds:
        table.add_row(others(len(seconds)), *_times(sum(seconds), whole, ""), *blank, style="dim")


def _times(spent: float, whole: float, bound: str) -> tuple[str, str, str]:
    return duration(spent), f"{100 * spent / whole:.1f} %", one_line(bound)


def _spent(path: Path) -> str:
    """`As scheduled a step takes at least 1.16 s: 574 ms of it wait for ICI over fsdp, ...`."""
    parts = [f"{duration(spent)} {name}" for name, spent in path.by_resource().items() if spent * 1000 >= path.seconds]
    return f"As scheduled a step takes at least {duration(path.seconds)}: {', '.join(parts)}."


def _products(found: Roofline, wide: bool) -> Table:
    each = Columns()
    each.add_column("Matrix product", header_style="bold", overflow="fold")
    for name in ("FLOP a step", "share", "runs"):
        each.add_column(name, justify="right", no_wrap=True)
    for name in (*(("result",) if wide else ()), "source", *(("scope",) if wide else ())):
        each.add_column(name, overflow="fold")
    for product in found.cost.products[:SHOWN_PRODUCTS]:
        each.add_row(*_cells(product, found.cost.flops, wide))
    return each


def _cells(product: Product, whole: int, wide: bool) -> tuple[str, ...]:
    runs = f"{product.count:,}" if product.count == product.count_min else f"{product.count_min:,}-{product.count:,}"
    cells = [
        one_line(product.name),
        si(product.flops).strip() + ("*" if product.stated else ""),
        f"{100 * product.flops_counted / (whole or 1):.1f} %",
        runs,
    ]
    if not wide:
        return (*cells, tail(product.source or "", 34))
    shape = one_line(product.shape.partition("{")[0])
    return (*cells, shape, tail(product.source or "", 34), tail(scope_of(product.scope), 24))
