"""What every view of a diff says: its headline, its figures, and each change in cells."""

from __future__ import annotations

from ...contracts.model import format_bytes
from ...hlo_tools.diff import Change, Diff, Metric
from ..pipeline.diff import Compared
from .printable import one_line, plural

_IN_FIGURES = frozenset(("flops", "traffic", "ring", "peak"))
_WORDS = {
    "ring_bytes": "sent in collectives",
    "collectives": "collectives",
    "peak": "peak memory",
    "need": "memory that must fit",
    "temp": "temporary memory",
    "arguments": "arguments",
    "flops": "FLOPs",
    "matrix_flops": "matrix FLOPs",
    "hbm_bytes": "memory traffic",
    "kernels": "kernel runs",
    "host_calls": "host calls",
}


def headline(compared: Compared) -> str:
    """The verdict and the first cause in one line."""
    diff = compared.diff
    word = "FAIL: " if compared.broken else "PASS: " if compared.thresholds is not None else ""
    if diff.verdict == "same":
        return f"{word}no change: the programs are equal up to names and order"
    if diff.verdict == "equivalent":
        return f"{word}no change in meaning; spelling of the programs differs"
    others = len(diff.roots) - 1
    more = f"; {plural(others, 'other cause')}" if others > 0 else ""
    return f"{word}{one_line(diff.changes[0].what)}{more}"


def figures(diff: Diff) -> list[tuple[str, str, str, str]]:
    """(what, before, after, difference) of the figures that differ."""
    rows = []
    for metric in diff.metrics.values():
        if metric.delta:
            rows.append(
                (_WORDS[metric.name], _figure(metric, metric.before), _figure(metric, metric.after), _by(metric))
            )
    return rows


def _figure(metric: Metric, value: int | None) -> str:
    """Bytes in full where it is a matter of memory: two figures are looked up by them."""
    if value is None:
        return "-"
    if metric.unit == "bytes":
        return f"{value:,} B" if abs(value) < 1 << 40 else format_bytes(value)
    return f"{value:,}"


def _by(metric: Metric) -> str:
    delta = metric.delta or 0
    if metric.before:
        return f"{100 * delta / metric.before:+.1f} %"
    return f"{delta:+,}"


def effects(diff: Diff) -> list[Change]:
    """What follows from the causes, without the sums that stand among the figures."""
    return [change for change in diff.changes if not change.root and change.kind not in _IN_FIGURES]


def peak(diff: Diff) -> list[str]:
    """The buffers responsible for another peak, largest first."""
    return next((change.details for change in diff.changes if change.kind == "peak" and not change.root), [])


def value(change: Change, side: int | float | str | None) -> str:
    """`before` or `after` of a change in its unit."""
    if side is None:
        return "-"
    if isinstance(side, str):
        return one_line(side) or "-"
    if change.unit in ("bytes", "ring bytes"):
        return format_bytes(int(side))
    return f"{side:,}"


def moved(change: Change) -> str:
    """`160.00 KiB -> 0 B`, `4 -> 2 rounds`: both sides and what they count, where the figures do not say it."""
    return f"{value(change, change.before)} -> {value(change, change.after)} {unit_of(change)}".rstrip()


def unit_of(change: Change) -> str:
    """What stands behind a figure of `value`, which says bytes itself."""
    return {"bytes": "", "ring bytes": "sent by each device", "dtype": ""}.get(change.unit, change.unit)


def lines(change: Change) -> str:
    """The line responsible on each side: `a.py:3 -> a.py:5`, one of them where they are the same."""
    a, b = change.source_a, change.source_b
    if a == b or not a or not b:
        return one_line(b or a or "")
    return f"{one_line(a)} -> {one_line(b)}"
