"""What stands in one cell of a table, the same in text and markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ...contracts.model import format_bytes
from ..pipeline.tables import Axes, ComparisonRow

ESTIMATE = "of a fast compile: temporaries may take more at full effort, or less"
"""What to know beside the memory of such a program."""


def axes(value: Axes) -> str:
    """`data,fsdp`; `irregular`; `?` where the axes are unknown; `-` for none."""
    if value is None:
        return "?"
    return value if isinstance(value, str) else ",".join(value) or "-"


def mesh(value: tuple[tuple[str, int], ...] | None) -> str:
    """`data 2 x fsdp 4`; of a mesh with ever so many axes only those that split anything."""
    if not value:
        return "none"
    shown = value if len(value) <= 4 else tuple(axis for axis in value if axis[1] > 1) or value
    return " x ".join(f"{name} {size}" for name, size in shown)


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def bytes_or_dash(value: int | None) -> str:
    return "-" if value is None else format_bytes(value)


def versus(plan: int | None, program: int | None) -> str:
    """One number where plan and program agree, else `plan -> program`."""
    if plan == program or plan is None:
        return number(program)
    return f"{number(plan)} -> {number(program)}"


def compared(rows: Sequence[ComparisonRow], limit: int) -> tuple[list[ComparisonRow], list[ComparisonRow]]:
    """The rows to show (loss, metrics, every row above its bound, then the largest ratios) and the rest."""
    order = {"loss": 0, "metric": 1}
    ranked = sorted(
        rows, key=lambda row: (order.get(row.role, 2), -(row.ratio if row.ratio is not None else -1.0), row.path)
    )
    broken = [row for row in ranked if row.ratio is not None and not row.ratio <= 1]
    count = max(limit, sum(row.role in order for row in ranked) + sum(row.role not in order for row in broken))
    return ranked[:count], ranked[count:]


def peak_label(peak: int, need: int) -> str:
    """What the live peak is called beside what must fit: larger only by the program's constants, which are part of the
    code where they are budgeted."""
    return "live at the peak" if peak <= need else "live at the peak, constants included"


def beside(size: int, other: int) -> str:
    """Bytes that stand beside others: in full where both would read the same."""
    short = format_bytes(size)
    return f"{size:,} B" if short == format_bytes(other) else short
