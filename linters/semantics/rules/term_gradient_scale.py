"""The gradient of a term is a multiple of the promised one.

## What it does
Splits the step's gradient into the gradients of its terms, at 1, 2, 4 and 8 microbatches, and compares each with
weight / normaliser of the promise. The factor found is named after the number it is: tokens over microbatches, devices,
a weight that is applied twice.

## Why is this bad?
An auxiliary loss that is divided by the tokens of the step, as the main one is, hardly trains anything. The reported
loss is right to all digits, so no comparison of losses can see it.

## Example
```python
total = cross_entropy_sum + balance_loss  # one accumulator for both
grads = accumulated_gradient_of(total) / tokens
```

## Use instead
```python
part = cross_entropy_sum / tokens + balance_loss / microbatches
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/1483
- https://github.com/NVIDIA/Megatron-LM/pull/5047
- https://github.com/NVIDIA/Megatron-LM/pull/5798
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..diagnosis import RATIO, Diagnosis, Found
from ..meaning import Setting, explain, same
from ..wording import digits, table, term_key, terms, with_microbatches


def check(evidence: StepEvidence) -> Iterable[Finding]:
    diagnosis = evidence.diagnosis
    if diagnosis is None:
        return
    # Terms with the same factors at the same numbers of microbatches share one fault.
    groups: dict[tuple[object, ...], list[Found]] = {}
    for index, term in diagnosis.terms:
        found = [f for each in diagnosis.measured for f in each.found if f.index == index and f.wrong and not f.dead]
        found = [each for each in found if not _by_its_denominator(diagnosis, each)]
        if found:
            factors = (*((f.setting.microbatches, f"{f.ratio:.5g}") for f in found), term.normaliser)
            groups.setdefault(factors, []).extend(found)
    for found in groups.values():
        yield _finding(evidence, found)


def _finding(evidence: StepEvidence, found: list[Found]) -> Finding:
    term, worst = found[0].term, found[-1]
    assert term.normaliser is not None and worst.ratio is not None
    one = [each for each in found if each.index == found[0].index]
    meaning = explain([(each.setting, each.ratio) for each in one if each.ratio is not None], term.normaliser)
    why = f": {meaning}" if meaning else ""
    counts = [each.setting.microbatches for each in found]
    key = term_key(found[0].index)
    return RULE.finding(
        f"the gradient of {terms(found, verb=False)} is {digits(worst.ratio)} x the promised one "
        f"{with_microbatches([worst.setting.microbatches])}{why}",
        subject=f"{evidence.name} {terms(found, verb=False)}",
        location=evidence.place(key),
        key=key,
        expected=f"ratio 1 +- {RATIO:g} at every number of microbatches, with weight {term.weight:g} over "
        f"{term.normaliser}",
        found=f"ratio {digits(worst.ratio)} {with_microbatches(counts)}",
        evidence=table(evidence, found),
        help="give each term its own divisor before microbatches are added up",
        details={"terms": sorted({each.term.name for each in found})},
    )


def _by_its_denominator(diagnosis: Diagnosis, found: Found) -> bool:
    """Whether the factor is that of the denominator which `loss_terms` gives: another rule speaks of it."""
    assert diagnosis.facts.sizes is not None and found.term.normaliser is not None and found.ratio is not None
    own = diagnosis.facts.terms[found.term.name].denominator
    promised = Setting(diagnosis.facts.sizes, 1).value(found.term.normaliser)
    return promised is not None and own != 0 and not same(own, promised) and same(found.ratio, promised / own)


RULE = Rule(
    code="SEM806", name="term-gradient-scale", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
