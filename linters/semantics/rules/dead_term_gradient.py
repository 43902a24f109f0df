"""A term is in the loss and has no gradient.

## What it does
Splits the step's gradient into the gradients of its terms and reports a term that is not in it, though its own sum
depends on the parameters.

## Why is this bad?
The term is logged, and looks as if it were trained. A stopped gradient, a value that is only added to the metrics, or
an auxiliary output that nobody differentiates are the usual causes.

## Example
```python
loss = cross_entropy + jax.lax.stop_gradient(weight * z_loss)
```

## Use instead
```python
loss = cross_entropy + weight * z_loss
```

## References
- https://github.com/NVIDIA-NeMo/Automodel/issues/1408
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..wording import table, term_key, with_microbatches


def check(evidence: StepEvidence) -> Iterable[Finding]:
    diagnosis = evidence.diagnosis
    if diagnosis is None:
        return
    for index, term in diagnosis.terms:
        found = [f for each in diagnosis.measured for f in each.found if f.index == index and f.dead]
        if found:
            counts = [each.setting.microbatches for each in found]
            yield RULE.finding(
                f"term `{term.name}` has no gradient in step `{evidence.name}` {with_microbatches(counts)}, "
                "though its sum depends on the parameters",
                subject=f"{evidence.name} {term.name}",
                location=evidence.place(term_key(index)),
                key=term_key(index),
                expected=f"weight {term.weight:g}",
                found="none",
                evidence=table(evidence, found),
                help="look for stop_gradient, has_aux and values that are added to the metrics alone",
                details={"term": term.name},
            )


RULE = Rule(
    code="SEM807", name="dead-term-gradient", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
