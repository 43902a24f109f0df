"""The figures of a whole step, by the names that thresholds use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...contracts.model import format_bytes
from ..collectives import CollectiveLedger
from ..cost import CostLedger
from ..memory import MemoryLedger
from .census import Census
from .change import Change, Kind
from .lines import Lines

METRICS: dict[str, tuple[str, str]] = {
    "ring_bytes": ("bytes", "bytes each device sends in collectives"),
    "collectives": ("", "collectives executed"),
    "peak": ("bytes", "memory live at the peak"),
    "need": ("bytes", "memory that must fit"),
    "temp": ("bytes", "temporary memory"),
    "arguments": ("bytes", "memory of the arguments"),
    "flops": ("FLOPs", "floating-point operations"),
    "matrix_flops": ("FLOPs", "floating-point operations of matrix products"),
    "hbm_bytes": ("bytes", "bytes moved to and from device memory"),
    "kernels": ("", "kernels run"),
    "host_calls": ("", "callbacks, infeeds, outfeeds and transfers to or from the host"),
}
"""Name -> unit, what it counts in one step on one device."""
_SUMS: tuple[tuple[str, Kind, str], ...] = (
    ("flops", "flops", "FLOPs"),
    ("hbm_bytes", "traffic", "memory traffic"),
    ("ring_bytes", "ring", "sent by each device in collectives, as run"),
)


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of both programs; None where a program does not tell."""

    name: str
    unit: str
    before: int | None
    after: int | None

    @property
    def delta(self) -> int | None:
        return None if self.before is None or self.after is None else self.after - self.before

    def as_json(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after, "delta": self.delta, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Figures:
    """What one side's metrics are made of."""

    census: Census
    collectives: CollectiveLedger
    cost: CostLedger
    memory: MemoryLedger | None

    def values(self) -> dict[str, int | None]:
        memory, totals = self.memory, self.collectives.totals()
        return {
            "ring_bytes": sum(total.ring_bytes for total in totals),
            "collectives": sum(total.count for total in totals),
            "peak": memory.peak_bytes if memory else None,
            "need": memory.need_bytes if memory else None,
            "temp": memory.temp_bytes if memory else None,
            "arguments": memory.argument_bytes if memory else self._arguments(),
            "flops": self.cost.flops,
            "matrix_flops": self.cost.matrix,
            "hbm_bytes": self.cost.hbm_bytes,
            "kernels": sum(kernel.count for kernel in self.census.kernels),
            "host_calls": sum(tally.count for tally in self.census.host.values()),
        }

    def _arguments(self) -> int:
        return sum(parameter.shape.padded_bytes for parameter in self.census.module.entry.parameters)


def metrics(a: Figures, b: Figures) -> dict[str, Metric]:
    before, after = a.values(), b.values()
    return {name: Metric(name, unit, before[name], after[name]) for name, (unit, _) in METRICS.items()}


def changes(a: Figures, b: Figures, lines: Lines) -> Iterator[Change]:
    """Operations, traffic and ring bytes that differ in sum."""
    found = metrics(a, b)
    products = _products(a.cost, b.cost, lines)
    for name, kind, words in _SUMS:
        metric = found[name]
        if not metric.delta:
            continue
        yield _total(metric, kind, words, products if kind == "flops" else [], lines)


def _total(metric: Metric, kind: Kind, words: str, products: list[tuple[str | None, int]], lines: Lines) -> Change:
    before, after = metric.before or 0, metric.after or 0
    shown = (f"{before:,}", f"{after:,}") if kind == "flops" else (format_bytes(before), format_bytes(after))
    top = products[0][0] if products else None
    return Change(
        kind=kind,
        what=f"{words} {shown[0]} -> {shown[1]}{percent(before, after)}",
        before=before,
        after=after,
        unit=metric.unit,
        source_a=top,
        source_b=lines.in_b(top),
        weight=abs(after - before),
        root=False,
        details=[f"{delta:+,} in matrix products at {source or 'no line'}" for source, delta in products[:5]],
    )


def percent(before: float, after: float) -> str:
    """` (+12.5 %)`; empty where there is nothing to compare with."""
    return f" ({100 * (after - before) / before:+.1f} %)" if before else ""


def _products(a: CostLedger, b: CostLedger, lines: Lines) -> list[tuple[str | None, int]]:
    """Difference of matrix operations by line of A, largest first."""
    sums: dict[str | None, int] = {}
    for product in a.products:
        sums[product.source] = sums.get(product.source, 0) - product.flops_counted
    for product in b.products:
        source = lines.line_in_a(product.source)
        sums[source] = sums.get(source, 0) + product.flops_counted
    return sorted(((s, d) for s, d in sums.items() if d), key=lambda item: (-abs(item[1]), item[0] or ""))
