"""The forecast in text and Markdown: what a step asks of each device, the bound by resource, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...contracts.model import format_bytes
from ..pipeline.tables import ForecastTable, ResourceRow
from .cells import axes
from .columns import Columns
from .printable import one_line

_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")


def forecast_text(forecast: ForecastTable, as_run: bool = False) -> list[RenderableType]:
    """The forecast as it stands in a terminal; `as_run` beside a table of what was asked for."""
    parts: list[RenderableType] = []
    if forecast.resources:
        parts.append(_resources(forecast))
    else:
        parts.append(Text("Forecast per device", style="bold"))
    for line in statements(forecast, as_run):
        parts.append(Padding(Text(one_line(line)), (0, 0, 0, 2)))
    rests = Table.grid(padding=(0, 1, 0, 0))
    for line in (*forecast.assumptions, *sources(forecast)):
        rests.add_row(Text("-", style="dim"), Text(one_line(line), style="dim"))
    return [*parts, Padding(rests, (0, 0, 0, 2))]


def _resources(forecast: ForecastTable) -> Table:
    table = Columns()
    table.add_column("Forecast per device: a bound", header_style="bold", overflow="fold")
    for name in ("needs", "peak rate", "at least"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for row in forecast.resources:
        mark = Text("binds", style="yellow") if row.binds else Text("")
        table.add_row(one_line(row.name), amount(row), rate(row), duration(row.seconds), mark)
    return table


def statements(forecast: ForecastTable, as_run: bool = False) -> Iterator[str]:
    """Everything but the table, in sentences; `as_run` where collectives that were asked for stand beside it."""
    work = f"{si(forecast.flops)}FLOP a step, {products(forecast)}; kernels move {format_bytes(forecast.hbm_bytes)}"
    yield work + (f" and {format_bytes(forecast.host_bytes)} of host memory" if forecast.host_bytes else "")
    if forecast.collectives:
        yield f"sent by collectives{', as run' if as_run else ''}: {sent(forecast)}"
    if forecast.need_bytes is not None and forecast.capacity_bytes:
        part = 100 * forecast.need_bytes / forecast.capacity_bytes
        need, capacity = format_bytes(forecast.need_bytes), format_bytes(forecast.capacity_bytes)
        yield f"HBM: {need} must fit in {capacity} ({part:.1f} %)"
    if forecast.bound_seconds is None:
        yield f"no time bound: {forecast.no_bound or 'nothing that is counted has a published rate'}"
    else:
        yield bound(forecast)
    if forecast.model_formula is not None and forecast.model_flops is not None:
        yield f"model FLOPs: {si(forecast.model_flops)}FLOP a step = {forecast.model_formula}"
        yield multiplied(forecast)


def bound(forecast: ForecastTable) -> str:
    """`a step takes at least 644 ms (HBM); at most 1.63 M tokens/s, MFU at most 27.2 %`."""
    text = f"a step takes at least {duration(forecast.bound_seconds or 0.0)} ({forecast.binding})"
    if forecast.tokens_per_second_max is not None:
        text += f"; at most {si(forecast.tokens_per_second_max).strip()} tokens/s"
    if forecast.mfu_max is not None:
        text += f", MFU at most {100 * forecast.mfu_max:.1f} % of the bf16 peak"
    return text


def multiplied(forecast: ForecastTable) -> str:
    """What the program does beyond the model's FLOPs: exactly what rematerialisation adds, or how much more."""
    done = forecast.devices * sum(flops for _, flops in forecast.matrix_flops)
    model, again = forecast.model_flops or 0, forecast.recomputed_flops or 0
    if done == model + again:
        rest = f" and {si(again)}FLOP that rematerialisation repeats" if again else ""
        return f"the program multiplies exactly that{rest}"
    return f"the program multiplies {si(done)}FLOP on all devices, {done / (model or 1):.3f} times that"


def products(forecast: ForecastTable) -> str:
    """`of it 35.9 TFLOP in matrix products (bf16)`."""
    if not forecast.matrix_flops:
        return "none in matrix products"
    whole = sum(flops for _, flops in forecast.matrix_flops)
    if len(forecast.matrix_flops) == 1:
        kinds = forecast.matrix_flops[0][0]
    else:
        kinds = ", ".join(f"{dtype} {si(flops).strip()}" for dtype, flops in forecast.matrix_flops)
    return f"of it {si(whole)}FLOP in matrix products ({kinds})"


def sent(forecast: ForecastTable) -> str:
    """`fsdp 1.2 GiB ICI, data 3 MiB ICI and 1 MiB DCN`."""
    said = []
    for row in forecast.collectives:
        apart = [
            f"{format_bytes(size)} {name}"
            for size, name in ((row.link_bytes, forecast.link), (row.network_bytes, forecast.network))
            if size
        ]
        if not forecast.resources:
            apart = [format_bytes(row.link_bytes + row.network_bytes)]
        said.append(f"{axes(row.axes)} {' and '.join(apart)}")
    return "; ".join(said)


def sources(forecast: ForecastTable) -> Iterator[str]:
    """Where the rates and the capacity are published, each address once; what a compiler says has none."""
    found: dict[str, list[str]] = {}
    for row in forecast.resources:
        named = row.name.split(" over ")[0] + (f": {row.note}" if row.note else "")
        there = found.setdefault(row.source, [])
        if named not in there and row.rate is not None:
            there.append(named)
    if forecast.capacity_bytes and forecast.capacity_source and forecast.need_bytes is not None:
        found.setdefault(forecast.capacity_source, []).append("HBM capacity")
    for address, names in found.items():
        if names:
            where = f"published at {address}" if address.startswith("https://") else f"as in the {address}"
            yield f"{where} ({'; '.join(names)})"


def forecast_rows(forecast: ForecastTable) -> list[tuple[str, ...]]:
    """The rows of the resources for a Markdown table, not escaped."""
    return [
        (row.name, amount(row), rate(row), duration(row.seconds), "binds" if row.binds else "")
        for row in forecast.resources
    ]


def amount(row: ResourceRow) -> str:
    return f"{si(row.amount)}FLOP" if row.unit == "FLOP" else format_bytes(row.amount)


def rate(row: ResourceRow) -> str:
    if row.rate is None:
        return "-"
    return f"{si(row.rate)}{'FLOP/s' if row.unit == 'FLOP' else 'B/s'}"


def si(value: float) -> str:
    """Three digits and a prefix: `35.9 T`, `819 G`, `512 `; the unit follows without a blank."""
    size = float(value)
    for prefix in _PREFIXES:
        if abs(size) < 999.5 or prefix == _PREFIXES[-1]:
            return f"{size:.3g} {prefix}"
        size /= 1000
    return ""


def duration(seconds: float) -> str:
    """`1.23 s`, `644 ms`, `12.3 us`."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
