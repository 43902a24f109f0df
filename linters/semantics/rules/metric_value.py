"""A logged number is not the promised sum over its denominator.

## What it does
Compares what the step returns under a metric's name with sum / denominator of `metrics`: the sum of a term, or of the
whole objective with its weights.

## Why is this bad?
A metric that is added up over microbatches grows with their number, so that two runs are compared that cannot be. The
gradient is right, and nobody notices.

## Example
```python
metrics = {"z_loss": sum(z_of(part) for part in parts)}  # of means
```

## Use instead
```python
metrics = {"z_loss": sum(z_sum_of(part) for part in parts) / tokens}
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/1483
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ....contracts.model import MetricSection
from ....contracts.suggest import did_you_mean
from ...evidence import StepEvidence
from ...rule import Rule
from ..diagnosis import REST, Diagnosis
from ..meaning import LABELS, Setting, explain, number

WHOLE = "objective"
"""What `sum` calls all terms with their weights, each by its own normaliser."""


def check(evidence: StepEvidence) -> Iterable[Finding]:
    facts, diagnosis, metrics = evidence.semantics, evidence.diagnosis, evidence.contract.metrics
    if facts is None or diagnosis is None or metrics is None or not facts.metrics:
        return
    for name, metric in metrics.items():
        key = format_key(("metrics", name))
        output = metric.output or name
        if output not in facts.metrics:
            yield RULE.finding(
                f"step `{evidence.name}` returns no metric `{output}`",
                subject=f"{evidence.name} {name}",
                location=evidence.place(key),
                key=key,
                expected=output,
                found=", ".join(facts.metrics),
                help=did_you_mean(output, facts.metrics),
            )
            continue
        promised = _promised(evidence, diagnosis, metric)
        found = facts.metrics[output]
        if (
            promised is None
            or not math.isfinite(promised)
            or abs(found - promised) <= REST * max(abs(promised), abs(found))
            or _known(diagnosis, found)
        ):
            continue
        setting = _setting(evidence, diagnosis)
        ratio = found / promised if promised and math.isfinite(found) else 0.0
        meaning = explain([(setting, ratio)], metric.denominator) if setting is not None else None
        yield RULE.finding(
            f"metric `{output}` of step `{evidence.name}` is {found:.6g}, promised is {promised:.6g}"
            f"{f' ({ratio:.4g} x)' if ratio else ''}{f': {meaning}' if meaning else ''}",
            subject=f"{evidence.name} {name}",
            location=evidence.place(key),
            key=key,
            expected=f"{metric.sum} / {number_of(setting, metric)}",
            found=f"{found:.9g}",
            help="return sum and denominator apart, add both up, and divide once",
        )


def _promised(evidence: StepEvidence, diagnosis: Diagnosis, metric: MetricSection) -> float | None:
    promised = evidence.contract.microbatches
    fact = next((each for each in diagnosis.facts.accumulations if each.microbatches == promised), None)
    measured = next((each for each in diagnosis.measured if each.fact is fact), None)
    if fact is None or diagnosis.facts.sizes is None:
        return None
    if metric.sum == WHOLE:
        return measured.loss if measured is not None else None
    found = next((term for _, term in diagnosis.terms if term.name == metric.sum), None)
    if found is None:
        return None
    return diagnosis.value(found.model_copy(update={"normaliser": metric.denominator}), fact, diagnosis.facts.sizes)


def _known(diagnosis: Diagnosis, found: float) -> bool:
    """Whether it is the step's own loss at the promised number of microbatches, which other rules judge."""
    losses = [each.fact.loss for each in diagnosis.measured]
    return any(abs(found - loss) <= REST * abs(loss) for loss in losses) and any(
        abs(each.fact.loss - each.loss) > REST * abs(each.loss) for each in diagnosis.measured
    )


def _setting(evidence: StepEvidence, diagnosis: Diagnosis) -> Setting | None:
    sizes = diagnosis.facts.sizes
    return None if sizes is None else Setting(sizes, evidence.contract.microbatches)


def number_of(setting: Setting | None, metric: MetricSection) -> str:
    """The denominator with its value where the batch tells it."""
    value = setting.value(metric.denominator) if setting is not None else None
    return LABELS[metric.denominator] if value is None else f"{LABELS[metric.denominator]} ({number(value)})"


RULE = Rule(code="SEM814", name="metric-value", severity="error", evidence="semantics", doc=__doc__ or "", check=check)
