"""The tables of the text report: plan against program, memory, tensors and run, for one step on one target."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ...contracts.model import format_bytes
from ..pipeline.resolved import ResolvedRow
from ..pipeline.tables import CollectiveRow, MemoryTable, RunTable, StepTables, TensorRow
from .cells import ESTIMATE, axes, beside, bytes_or_dash, compared, mesh, number, peak_label
from .columns import Columns
from .forecast import forecast_text
from .meaning import meaning_text
from .printable import one_line, plural
from .wrap import broken

MARKS = {
    "ok": "green",
    "allowed": "green",
    "-": "dim",
    "differs": "bold red",
    "unplanned": "bold red",
    "missing": "bold red",
}
SHOWN_COMPARISONS = 8
WIDE = 100
RULED = 4
"""Columns of a ruled line that its title cannot have."""


def step_tables(tables: StepTables, width: int) -> list[RenderableType]:
    """Everything known about one step on one target, in reading order."""
    parts: list[RenderableType] = ["", _header(tables, width)]
    if tables.collectives:
        parts += ["", _collectives(tables.collectives, width)]
    for note in ([tables.plan_note] if tables.plan_note else []) + list(tables.rewrites):
        parts.append(Padding(Text(one_line(note), style="dim"), (0, 0, 0, 2)))
    if tables.not_judged is not None:
        parts += ["", _indented(tables.not_judged, width, "yellow")]
    if tables.memory is not None:
        parts += ["", _memory(tables.memory)]
        parts += [_indented(ESTIMATE, width, "dim")] if tables.memory.standing == "estimate" else []
    if tables.tensors:
        parts += ["", _tensors(tables.tensors)]
    if tables.forecast is not None:
        parts += ["", *forecast_text(tables.forecast, as_run=True)]
    if tables.run is not None:
        parts += ["", *_run(tables.run, width)]
    if tables.meaning is not None:
        parts += ["", *meaning_text(tables.meaning)]
    return parts


def _header(tables: StepTables, width: int) -> RenderableType:
    """Target, step, devices and mesh as a ruled line: a device's long name goes first; what is left is never cut."""
    where = f"{tables.target}  step {tables.step}  {plural(tables.devices, 'device')}"
    lines = [f"{where}{kind}  mesh {mesh(tables.mesh)}" for kind in (f" ({tables.device_kind})", "")]
    for line in map(one_line, lines):
        if cell_len(line) <= width - RULED:
            return Rule(Text(line, style="bold"), align="left")
    return Text(one_line(lines[-1]), style="bold")


def resolved_table(rows: tuple[ResolvedRow, ...]) -> Table:
    """Derived values with their formulas."""
    table = _table("Resolved", "value", "formula", left=3)
    for row in rows:
        value = f"{row.value:,}" if isinstance(row.value, int) else one_line(str(row.value))
        table.add_row(one_line(row.key), value, Text(one_line(row.formula), style="dim"))
    return table


def _table(title: str, *columns: str, left: int = 1) -> Table:
    """A borderless table; the first `left` columns are text, the others numbers."""
    table = Columns()
    table.add_column(title, header_style="bold", overflow="fold")
    for position, column in enumerate(columns, start=1):
        table.add_column(column, justify="left" if position < left else "right", overflow="fold")
    return table


def _collectives(rows: tuple[CollectiveRow, ...], width: int) -> Table:
    """One line for what the program does; a second line with the promise where its numbers are others.

    What runs is left out where the columns do not fit beside each other: bytes first, then executions.
    """
    lines = [line for row in rows for line in _collective_lines(row)]
    lines.append(_total_line(rows))
    columns = ["Collectives", "axes", "count", "elements", "ring bytes", "run count", "run bytes", ""]
    for left_out in ("", "run bytes", "run count"):
        if left_out:
            at = columns.index(left_out)
            columns = columns[:at] + columns[at + 1 :]
            lines = [line[:at] + line[at + 1 :] for line in lines]
        if _fits(columns, lines, width):
            break
    table = _table(*columns, left=2)
    for position, column in enumerate(table.columns):
        column.no_wrap = position != 1  # a number in two parts is two numbers
    for line in lines[:-1]:
        table.add_row(*line[:-1], Text(line[-1], style=MARKS.get(line[-1], "")))
    table.add_section()
    table.add_row(*lines[-1])
    return table


def _fits(columns: list[str], lines: list[list[str]], width: int) -> bool:
    """Whether headings and cells fit beside each other."""
    widths = [max(map(cell_len, column)) for column in zip(columns, *lines, strict=True)]
    return sum(widths) + 2 * (len(columns) - 1) <= width


def _collective_lines(row: CollectiveRow) -> Iterator[list[str]]:
    yield [
        one_line(row.kind),
        one_line(axes(row.axes)),
        number(row.partitioned_count),
        number(row.partitioned_elements),
        bytes_or_dash(row.partitioned_ring_bytes),
        number(row.optimized_count),
        bytes_or_dash(row.optimized_ring_bytes),
        row.verdict,
    ]
    if row.plan_count is not None and not row.agrees:
        yield ["  promised", "", number(row.plan_count), number(row.plan_elements), "", "", "", ""]


def _total_line(rows: tuple[CollectiveRow, ...]) -> list[str]:
    def total(name: str) -> int:
        return sum(getattr(row, name) or 0 for row in rows)

    asked, run = (f"{total(name):,}" for name in ("partitioned_count", "optimized_count"))
    sent, sent_run = (format_bytes(total(name)) for name in ("partitioned_ring_bytes", "optimized_ring_bytes"))
    return ["all", "", asked, "", sent, run, sent_run, ""]


def _memory(memory: MemoryTable) -> Table:
    table = _table("Memory per device", "bytes", "promise", "")
    within = memory.hbm_bytes is None or memory.need_bytes <= memory.hbm_bytes
    mark = Text("refused", style="bold red") if memory.standing == "refused" else _mark(memory.hbm_bytes, within)
    table.add_row("must fit", format_bytes(memory.need_bytes), bytes_or_dash(memory.hbm_bytes), mark)
    table.add_row("  arguments", format_bytes(memory.argument_bytes), "", "")
    table.add_row("  outputs not aliased", format_bytes(max(0, memory.output_bytes - memory.alias_bytes)), "", "")
    table.add_row("  temporaries", format_bytes(memory.temp_bytes), "", "")
    table.add_row("  code", format_bytes(memory.code_bytes), "", "")
    if memory.peak_bytes is not None:
        table.add_row(peak_label(memory.peak_bytes, memory.need_bytes), format_bytes(memory.peak_bytes), "", "")
    if memory.state_bytes is not None:
        exact = memory.state_bytes == memory.state_plan_bytes
        plan = memory.state_plan_bytes
        table.add_row("state", format_bytes(memory.state_bytes), bytes_or_dash(plan), _mark(plan, exact))
        if memory.state_stored_bytes is not None and memory.state_stored_bytes != memory.state_bytes:
            table.add_row("  stored in tiles", beside(memory.state_stored_bytes, memory.state_bytes), "", "")
    for name, size, limit in memory.by_class:
        table.add_row(
            f"  {one_line(name)}",
            format_bytes(size),
            bytes_or_dash(limit),
            _mark(limit, limit is None or size <= limit),
        )
    return table


def _tensors(rows: tuple[TensorRow, ...]) -> Table:
    table = _table("Tensors", "count", "bytes per device", "plan", "replicated", "")
    for row in rows:
        table.add_row(
            one_line(row.cls).replace("_", " "),
            f"{row.count:,}",
            format_bytes(row.bytes),
            bytes_or_dash(row.plan_bytes),
            format_bytes(row.replicated_bytes),
            _mark(row.plan_bytes, row.plan_bytes == row.bytes),
        )
    return table


def _run(run: RunTable, width: int) -> list[RenderableType]:
    promised = f" of {run.compiles_promised} promised" if run.compiles_promised is not None else ""
    head = f"Run of {plural(run.steps, 'step')}: {plural(len(run.compiles), 'compile')}{promised}, " + plural(
        len(run.transfers), "host transfer"
    )
    if run.losses:
        head += f", loss {run.losses[0]:.6g} to {run.losses[-1]:.6g}"
    parts: list[RenderableType] = [Text(head, style="bold")]
    parts += [_indented(line, width) for line in (*run.compiles, *run.transfers)]
    if run.comparisons:
        parts += ["", _comparisons(run, width)]
    parts += [_indented(f"not compared: {what} ({reason})", width, "dim") for what, reason in run.not_compared]
    return parts


def _indented(line: str, width: int, style: str = "") -> Padding:
    return Padding(Text(broken(one_line(line), width - 2), style=style), (0, 0, 0, 2))


def _comparisons(run: RunTable, width: int) -> Table:
    titles = ("ratio", "error", "bound", "floor")
    table = _table("Against one device", *titles, "")
    shown, hidden = compared(run.comparisons, SHOWN_COMPARISONS)
    numbers = [
        tuple(f"{v:.3g}" if v is not None else "-" for v in (row.ratio, row.error, row.bound, row.floor))
        for row in shown
    ]
    # What the columns beside it leave for a name: two blanks before each, and the mark is `broken` at the longest.
    room = width - sum(2 + max(map(len, column)) for column in zip(titles, *numbers, strict=True)) - len("  broken")
    for row, cells in zip(shown, numbers, strict=True):
        name = row.path if row.role in ("loss", row.path) else f"{row.role.replace('_', ' ')} {row.path}"
        good = row.ratio is not None and row.ratio <= 1
        mark = Text("-", style="dim") if row.ratio is None else _mark(1, good)
        table.add_row(broken(one_line(name), room), *cells, mark)
    if hidden:
        worst = max((row.ratio for row in hidden if row.ratio is not None), default=None)
        table.add_row(f"{len(hidden):,} more", f"<= {worst:.3g}" if worst is not None else "-", "", "", "", "")
    return table


def _mark(promise: int | None, kept: bool) -> Text:
    if promise is None:
        return Text("")
    return Text("ok", style="green") if kept else Text("broken", style="bold red")
