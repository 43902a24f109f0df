"""The records of a project, for people at a terminal and as plain data."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from ...contracts.record import Metric
from ..pipeline.record.history import Listed, first_metric
from ..pipeline.record.index import Row
from .columns import Columns
from .printable import one_line, plural
from .record_text import number, short
from .text import to_text

WIDE, NARROW = 110, 78
LOSS = ("loss",)
TIME = ("seconds", "step_seconds", "step_time")
"""How metrics are called that are the time of one step."""


def listed(found: Listed, last: int, width: int, color: bool = False) -> str:
    """One row a record, the newest last."""
    rows = found.rows[-last:]
    if not rows:
        return to_text([], width, color, Text(_none(found)))
    wide, narrow = width >= WIDE, width < NARROW
    times = ("mean", "p50", "p90", "p99") if wide else ("mean", "p50", "p99")
    hidden = () if wide else (*(("made",) if narrow else ()), "kind", "targets", "p90")
    table = Columns()
    for heading in ("record", *(() if narrow else ("made (UTC)",)), *(("kind",) if wide else ())):
        table.add_column(heading, no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for heading in ("targets", "rules") if wide else ():
        table.add_column(heading, overflow="fold")
    for heading in ("loss", *times):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        loss, time = first_metric(row, LOSS), first_metric(row, TIME)
        table.add_row(
            short(row.digest),
            *(() if narrow else (row.created.replace("T", " ")[: 16 if wide else 10],)),
            *((row.kind,) if wide else ()),
            one_line(row.name),
            row.verdict or "-" if wide else _verdict(row),
            *((one_line(", ".join(row.targets)) or "-", ", ".join(row.findings) or "-") if wide else ()),
            number(loss.last) if loss is not None else "-",
            *(_figure(time, each) for each in times),
        )
    left = len(found.rows) - len(rows)
    older = f", {left:,} older: --last {len(found.rows)} lists all" if left else ""
    told = f"{plural(len(rows), 'record')}{older}; seconds of a step: {', '.join(times)}"
    if hidden:
        told += f"; not shown below {WIDE} columns: {', '.join(hidden)} (--format json has them)"
    return to_text(["", table], width, color, Text(told))


def _verdict(row: Row) -> str:
    """The verdict, and the first rule on records that it breaks, where there is no column for them."""
    more = f" +{len(row.findings) - 1:,}" if len(row.findings) > 1 else ""
    broken = f"{row.findings[0]}{more}" if row.findings else ""
    return ", ".join(filter(None, (row.verdict, broken))) or "-"


def times(metric: Metric) -> str:
    """`seconds of a step: mean 0.021, p50 0.02, p90 0.024, p99 0.05 (99 steps)`."""
    figures = ", ".join(f"{name} {number(getattr(metric, name))}" for name in ("mean", "p50", "p90", "p99"))
    return f"seconds of a step: {figures} ({plural(metric.count, 'step')})"


def as_json(found: Listed, last: int | None) -> dict[str, Any]:
    """The rows as plain data, all or the `last`; `older`: how many are left out."""
    rows = found.rows[-last:] if last is not None else found.rows
    left = {"older": len(found.rows) - len(rows), "unread": list(found.unread)}
    return {"schema_version": 1, "records": [_row(row) for row in rows], **left}


def _none(found: Listed) -> str:
    """Why there is no row."""
    if found.unread:
        return f"no record that can be read: {plural(len(found.unread), 'file')} cannot"
    if found.others:
        return f"no record of that name: {plural(found.others, 'record')} of other names"
    return "no record yet: verify, train and `record create` write one"


def _row(row: Row) -> dict[str, Any]:
    plain = {name: getattr(row, name) for name in ("digest", "file", "created", "name", "kind", "contract", "source")}
    metrics = {name: metric.model_dump(mode="json", exclude_none=True) for name, metric in row.metrics.items()}
    told = {"targets": list(row.targets), "verdict": row.verdict, "findings": list(row.findings)}
    return plain | told | {"metrics": metrics, "conclusion": row.conclusion}


def _figure(metric: Metric | None, name: str) -> str:
    return number(getattr(metric, name)) if metric is not None else "-"
