"""A term is in the loss and has no gradient.

## What it does
Splits the step's gradient into the gradients of its terms and reports a term that is not in it, though its own sum
depends on the parameters. That holds for a term which has no gradient in `loss_terms` either, because both are made of
one forward pass that stops it: its sum is another one at other parameters.

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
from ....contracts.semantics import SemanticsFacts
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
            nowhere = term.name in diagnosis.lifeless
            where = f"at all, neither in step `{evidence.name}` nor in its `loss_terms`" if nowhere else ""
            yield RULE.finding(
                f"term `{term.name}` has no gradient {where or f'in step `{evidence.name}`'} "
                f"{with_microbatches(counts)}, though its sum depends on the parameters",
                subject=f"{evidence.name} {term.name}",
                location=evidence.place(term_key(index)),
                key=term_key(index),
                expected=f"weight {term.weight:g}",
                found="none",
                evidence=_values(diagnosis.facts, term.name) if nowhere else table(evidence, found),
                help="look for stop_gradient in what the loss and `loss_terms` share"
                if nowhere
                else "look for stop_gradient, has_aux and values that are added to the metrics alone",
                details={"term": term.name},
            )


def _values(facts: SemanticsFacts, name: str) -> tuple[str, ...]:
    return (
        f"the sum of `{name}` is {facts.terms[name].sum:.9g}, and {facts.elsewhere[name]:.9g} at other parameters",
        "the gradient of that sum is 0 in every parameter",
    )


RULE = Rule(
    code="SEM807", name="dead-term-gradient", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
