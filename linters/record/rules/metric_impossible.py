"""The figures of a metric contradict each other.

## What it does
Holds the figures of each metric against each other: the extremes against the percentiles between them, the mean and the
last value, the number of values against those that are not finite. Percentiles are by nearest rank, so of few values
they are the least and the most.

## Why is this bad?
No list of numbers has such figures: one of them was edited. Of a metric that a command measured there is no file that
could tell the true one.

## Example
```json
{"metrics": {"loss": {"count": 9, "last": 0.01, "least": 2.1, "most": 2.9}}}
```

## Use instead
```json
{"metrics": {"loss": {"count": 9, "last": 2.1, "least": 2.1, "most": 2.9}}}
```

## References
- https://en.wikipedia.org/wiki/Percentile#The_nearest-rank_method
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ....contracts.finding import Finding
from ....contracts.record import PERCENTILES, Metric
from ...rule import Rule
from ..evidence import RecordEvidence

_ORDER = ("least", *(f"p{each}" for each in PERCENTILES), "most")
_FIGURES = (*_ORDER, "mean", "last")
_ROUNDING = 1e-9
"""By what part a mean may lie beside the values that it is of."""


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    for name, metric in sorted(evidence.record.metrics.items()) if evidence.record is not None else ():
        said = next(_faults(metric), None)
        if said is not None:
            yield evidence.finding(
                RULE,
                f"no values have these figures of {name}: {said}",
                subject=name,
                key=f"metrics.{name}",
                help="make a new record: this one was edited, or put together by something else",
            )


def _faults(metric: Metric) -> Iterator[str]:
    count = metric.count - metric.not_finite
    figures = {name: each for name in _FIGURES if (each := getattr(metric, name)) is not None}
    if metric.count == 0 or count < 0:
        yield f"{metric.not_finite:,} of {metric.count:,} values are not finite"
        return
    if count == 0:
        if figures:
            yield f"no value is finite, and there is {next(iter(figures))} {next(iter(figures.values()))}"
        return
    absent = [name for name in _FIGURES if name not in figures and (name != "last" or not metric.not_finite)]
    if absent:
        yield f"there is no {absent[0]}"
        return
    yield from _disordered(figures)
    for percent in PERCENTILES:
        name, rank = f"p{percent}", math.ceil(percent / 100 * count)
        for end, of_end in (("least", 1), ("most", count)):
            if rank == of_end and figures[name] != figures[end]:
                yield f"{name} {figures[name]} of {count:,} value{'s' * (count != 1)}, and {end} {figures[end]}"


def _disordered(figures: dict[str, float]) -> Iterator[str]:
    for low, high in (*pairwise(_ORDER), ("least", "last"), ("last", "most"), ("least", "mean"), ("mean", "most")):
        if low not in figures or high not in figures or figures[low] <= figures[high]:
            continue
        if "mean" not in (low, high) or not math.isclose(figures[low], figures[high], rel_tol=_ROUNDING):
            yield f"{low} {figures[low]}, {high} {figures[high]}"


RULE = Rule(
    code="EXP617",
    name="metric-impossible",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
