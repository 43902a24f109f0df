"""The loss is not the promised sum of its terms.

## What it does
Compares the loss at each number of microbatches with weight x sum / normaliser, added over the promised terms, where
the gradient agrees with the promise.

## Why is this bad?
A loss that is reported otherwise than it is minimised misleads every comparison of runs.

## Example
```python
loss = jnp.mean(jnp.stack([sum_of(part) / tokens_of(part) for part in parts]))  # reported
grads = total_gradient / all_tokens  # applied
```

## Use instead
```python
loss = sum(map(sum_of, parts)) / all_tokens
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/1483
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..diagnosis import REST
from ..wording import loss_line, with_microbatches


def check(evidence: StepEvidence) -> Iterable[Finding]:
    diagnosis = evidence.diagnosis
    measured = diagnosis.measured if diagnosis is not None else ()
    # A gradient that is wrong says more about the same fault.
    if not measured or any(
        each.rest is not None or any(f.wrong or not f.promised for f in each.found) for each in measured
    ):
        return
    wrong = [each for each in measured if abs(each.fact.loss - each.loss) > REST * abs(each.loss)]
    if not wrong:
        return
    worst = max(wrong, key=lambda each: abs(each.fact.loss / each.loss - 1) if each.loss else 0.0)
    yield RULE.finding(
        f"the loss of step `{evidence.name}` is {worst.fact.loss:.6g} {with_microbatches([worst.fact.microbatches])}, "
        f"promised is {worst.loss:.6g}; its gradient is as promised",
        subject=evidence.name,
        location=evidence.place("objective"),
        key="objective",
        expected=f"{worst.loss:.9g}",
        found=f"{worst.fact.loss:.9g}",
        evidence=tuple(f"N={each.fact.microbatches}: {loss_line(each)}" for each in measured),
        help="report the number that is minimised",
    )


RULE = Rule(
    code="SEM804", name="objective-differs", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
