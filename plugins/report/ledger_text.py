"""Ledgers for people at a terminal: the first line is the answer, then totals, then the largest rows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...contracts.model import format_bytes
from ...hlo_tools.collectives import CollectiveLedger
from ...hlo_tools.mesh_axes import likely_sizes
from ...hlo_tools.participants import PAIRED
from ...hlo_tools.summary import SummaryLedger
from ...hlo_tools.tensors import Tensor, TensorLedger
from .cells import axes, bytes_or_dash, peak_label
from .columns import Columns
from .printable import counted_once, one_line, others, plural
from .text import to_text

SHOWN_ROWS = 40
WIDE = 100
_BLOCKS = "▁▂▃▄▅▆▇█"


def tensors_text(ledger: TensorLedger, width: int, color: bool = False) -> str:
    """Bytes by class, then every argument in argument order."""
    first = f"{one_line(ledger.module)}: {format_bytes(ledger.state_bytes)} of state on each device"
    first += f" in {plural(len(ledger.rows), 'array')}"
    totals = table_of(("Class",), ("arrays", "bytes per device"))
    for name, size in sorted(ledger.totals().items(), key=lambda item: -item[1]):
        count = sum(row.class_ == name for row in ledger.rows)
        totals.add_row(name.replace("_", " "), f"{count:,}", format_bytes(size))
    each = table_of(("Tensor", "class", "shape", "placement"), ("bytes",), ("dtype",) if width >= WIDE else ())
    for row in ledger.rows:
        each.add_row(*_tensor(row, width >= WIDE))
    return to_text(["", totals, "", each], width, color, Text(first))


def summary_text(ledger: SummaryLedger, width: int, color: bool = False) -> str:
    """Size, host calls, the totals of the collectives and of memory."""
    where = f"{plural(ledger.partitions, 'partition')}"
    if ledger.replicas > 1:
        where += f" x {plural(ledger.replicas, 'replica')}"
    first = f"{one_line(ledger.module)}: {plural(ledger.instructions, 'instruction')} in "
    first += f"{plural(ledger.computations, 'computation')}, {where}"
    work = table_of(("Instructions",), ("count",))
    _counted(work, ledger.opcodes)
    parts: list[RenderableType] = [
        *([Text(f"compiled for {one_line(ledger.target)} at effort {ledger.effort}")] if ledger.target else []),
        "",
        work,
    ]
    if ledger.custom_calls:
        calls = table_of(("Custom calls",), ("count",))
        _counted(calls, ledger.custom_calls)
        parts += ["", calls]
    if ledger.host:
        talk = "talks" if ledger.host == 1 else "talk"
        parts += ["", Text(f"{plural(ledger.host, 'instruction')} {talk} to the host", style="yellow")]
    totals = ledger.collectives.totals()
    if totals:
        table = table_of(("Collectives as run", "axes"), ("count", "elements", "ring bytes"))
        for total in sorted(totals, key=lambda total: -total.ring_bytes):
            table.add_row(
                total.kind, one_line(axes(total.axes)), *numbers(total.count, total.elements), ring_bytes(total)
            )
        said = only_elsewhere(ledger.collectives)
        loops = ledger.collectives.unknown_loops
        parts += ["", table, *([Text(said)] if said else []), *unnamed_axes(ledger.collectives)]
        parts += [Text(counted_once(loops), style="yellow")] if loops else []
    if ledger.memory is not None:
        memory = table_of(("Memory per device",), ("bytes",))
        memory.add_row("must fit", format_bytes(ledger.memory.need_bytes))
        memory.add_row(
            peak_label(ledger.memory.peak_bytes, ledger.memory.need_bytes), format_bytes(ledger.memory.peak_bytes)
        )
        memory.add_row("state", bytes_or_dash(ledger.memory.state_bytes))
        parts += ["", memory]
    return to_text(parts, width, color, Text(first))


def _counted(table: Table, counts: dict[str, int]) -> None:
    """The most frequent names; the others together in one row."""
    shown = list(counts.items())[:_NAMED]
    for name, count in shown:
        table.add_row(one_line(name), f"{count:,}")
    if len(counts) > len(shown):
        rest = sum(counts.values()) - sum(count for _, count in shown)
        table.add_row(others(len(counts) - len(shown)), f"{rest:,}")


def sparkline(points: Sequence[tuple[int, int]], width: int) -> str:
    """The curve (index, value) as one line of blocks: each column shows the largest value in its part of the range."""
    if len(points) < 2 or width < 1:
        return ""
    last = points[-1][0]
    columns = [0] * min(width, last + 1)
    for position, (index, value) in enumerate(points):
        end = points[position + 1][0] - 1 if position + 1 < len(points) else last
        for column in range(index * len(columns) // (last + 1), end * len(columns) // (last + 1) + 1):
            columns[column] = max(columns[column], value)
    top = max(columns) or 1
    return "".join(_BLOCKS[value * (len(_BLOCKS) - 1) // top] for value in columns)


_NAMED = 12
_AXES = ("data", "fsdp", "tensor")
"""Names for an example, outermost first."""


def unnamed_axes(ledger: CollectiveLedger) -> list[RenderableType]:
    """How to name the axes of a program that does not; nothing where it does, or where a mesh was given."""
    if ledger.mesh is not None or all(isinstance(row.axes, tuple) for row in ledger.rows):
        return []
    paired = (row.kind in PAIRED for row in ledger.rows)
    groups = [row.groups for row, pairs in zip(ledger.rows, paired, strict=True) if row.groups and not pairs]
    devices = max(ledger.devices, *(row.group_size for row in ledger.rows))
    sizes = likely_sizes(groups, devices)
    names = (*_AXES, *(f"axis{number}" for number in range(len(_AXES), len(sizes))))
    example = ",".join(f"{name}={size}" for name, size in zip(names, sizes, strict=False))
    return [Text(f"Axes are not named: add their sizes, outermost first, e.g. --mesh {example}", style="yellow")]


def only_elsewhere(ledger: CollectiveLedger) -> str | None:
    """Which collectives no total has: they run in branches of conditionals that send less than others."""
    counted: dict[tuple[str, str], int] = {}
    for row in ledger.rows:
        if row.count:
            group = (row.kind, one_line(axes(row.axes)))
            counted[group] = counted.get(group, 0) + (row.count if row.dearest is None else row.dearest)
    missing = [f"{kind} over {over}" for (kind, over), taken in counted.items() if not taken]
    if not missing:
        return None
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    return f"Totals take the branch of a conditional that sends most; only in others: {', '.join(missing[:3])}{more}."


def _tensor(row: Tensor, wide: bool) -> tuple[str, ...]:
    shape = "x".join(map(str, row.global_shape)) or "scalar"
    if wide and row.local_shape is not None and row.local_shape != row.global_shape:
        shape += f" -> {'x'.join(map(str, row.local_shape))}"
    spec = "?" if row.spec is None else ", ".join(",".join(part) or "-" for part in row.spec)
    dtype = (row.dtype,) if wide else ()
    return one_line(row.path), row.class_.replace("_", " "), shape, one_line(spec), bytes_or_dash(row.bytes), *dtype


def tail(text: str, limit: int) -> str:
    """The end of a path or scope, at most `limit` characters: what tells two of them apart stands there."""
    line = one_line(text)
    return line if len(line) <= limit else f"…{line[1 - limit :]}"


def numbers(*values: int) -> tuple[str, ...]:
    return tuple(f"{value:,}" for value in values)


def ring_bytes(total: object) -> str:
    return format_bytes(getattr(total, "ring_bytes", 0))


def left_out(count: int, noun: str) -> list[RenderableType]:
    if count <= SHOWN_ROWS:
        return []
    return [Text(f"{plural(count - SHOWN_ROWS, f'smaller {noun}')} not shown; --format json has all", style="dim")]


def table_of(left: Sequence[str], right: Sequence[str], more: Sequence[str] = ()) -> Table:
    """A borderless table: text columns, number columns, text columns."""
    table = Columns()
    for position, name in enumerate((*left, *right, *more)):
        number = len(left) <= position < len(left) + len(right)
        table.add_column(
            name,
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=number,
            header_style="bold" if position == 0 else "dim",
        )
    return table
