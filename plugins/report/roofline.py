"""The roofline of one program: the forecast, then the matrix products that cost most, by source line."""

from __future__ import annotations

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...hlo_tools.cost import Product
from ...hlo_tools.roofline import Roofline
from ...hlo_tools.scope import scope_of
from ..pipeline.forecast import as_table
from .forecast import duration, forecast_rows, forecast_text, si, sources, statements
from .ledger_markdown import folded, table
from .ledger_text import WIDE, tail
from .markdown import escape
from .printable import one_line, plural
from .text import to_text

SHOWN_PRODUCTS = 20


def roofline_text(found: Roofline, width: int, color: bool = False) -> str:
    """The answer in the first line, the bound by resource, the largest products."""
    parts: list[RenderableType] = ["", *forecast_text(as_table(found))]
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
    cells = [tuple(map(escape, _cells(product, found.cost.flops, True))) for product in found.cost.products]
    columns = ("product", "FLOP a step", "share", "executions", "result", "source", "scope")
    parts.append(folded(plural(len(cells), "matrix product"), columns, cells))
    return "\n\n".join(parts) + "\n"


def _first(found: Roofline) -> str:
    text = f"{found.cost.module}: {si(found.cost.flops)}FLOP a step on each of {plural(found.devices, 'device')}"
    if found.seconds is not None and found.binding is not None:
        return f"{text}; at least {duration(found.seconds)}, bound by {found.binding.name}"
    return f"{text}; no time bound: {found.no_bound or 'no rate is published'}"


def _products(found: Roofline, wide: bool) -> Table:
    each = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
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
        f"{100 * product.flops / (whole or 1):.1f} %",
        runs,
    ]
    if not wide:
        return (*cells, tail(product.source or "", 34))
    shape = one_line(product.shape.partition("{")[0])
    return (*cells, shape, tail(product.source or "", 34), tail(scope_of(product.scope), 24))
