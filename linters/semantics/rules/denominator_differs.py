"""A term is divided by something else than promised.

## What it does
Compares the denominator that `loss_terms` gives for the whole batch with the promised normaliser, counted in the batch
itself: the sum of its mask, its rows, its positions.

## Why is this bad?
With padding in the denominator alone, loss and gradient depend on how much padding a batch has: two runs with other
bucket sizes cannot be compared, and short texts weigh less.

## Example
```python
loss = jnp.sum(losses * mask) / mask.size
```

## Use instead
```python
loss = jnp.sum(losses * mask) / jnp.sum(mask)
```

## References
- https://github.com/EleutherAI/gpt-neo/pull/45
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import Normaliser
from ...evidence import StepEvidence
from ...rule import Rule
from ..diagnosis import Diagnosis
from ..meaning import LABELS, Setting, number, same
from ..wording import counted_by, digits, term_key


def check(evidence: StepEvidence) -> Iterable[Finding]:
    diagnosis = evidence.diagnosis
    if diagnosis is None or diagnosis.facts.sizes is None:
        return
    groups: dict[tuple[Normaliser, float], list[int]] = {}
    for position, (_, term) in enumerate(diagnosis.terms):
        assert term.normaliser is not None
        own = diagnosis.facts.terms[term.name].denominator
        promised = Setting(diagnosis.facts.sizes, 1).value(term.normaliser)
        if promised is not None and not same(own, promised):
            groups.setdefault((term.normaliser, own), []).append(position)
    for (normaliser, own), positions in groups.items():
        yield _finding(evidence, diagnosis, Setting(diagnosis.facts.sizes, 1), normaliser, own, positions)


def _finding(
    evidence: StepEvidence,
    diagnosis: Diagnosis,
    setting: Setting,
    normaliser: Normaliser,
    own: float,
    positions: list[int],
) -> Finding:
    chosen = [diagnosis.terms[position] for position in positions]
    promised = setting.value(normaliser) or 0.0
    others = [LABELS[other] for other in LABELS if (value := setting.value(other)) and same(own, value)]
    ratios = [
        found.ratio
        for measured in diagnosis.measured
        for found in measured.found
        if found.index == chosen[0][0] and found.ratio is not None
    ]
    factor = promised / own if own else float("inf")
    said = "its value follows"
    if any(same(ratio, factor) for ratio in ratios):
        said = f"the gradient is {digits(factor)} x what is promised"
    elif ratios and all(same(ratio, 1.0) for ratio in ratios):
        said = "the gradient is divided as promised, `loss_terms` alone is not"
    names = " and ".join(f"`{term.name}`" for _, term in chosen)
    key = term_key(chosen[0][0], "normaliser")
    return RULE.finding(
        f"{'terms' if len(chosen) > 1 else 'term'} {names} {'are' if len(chosen) > 1 else 'is'} divided by "
        f"{number(own)}{f', {others[0]}' if others else ''}; promised is {number(promised)}, {LABELS[normaliser]}: "
        f"{said}",
        subject=f"{evidence.name} {names}",
        location=evidence.place(key),
        key=key,
        expected=f"{normaliser} = {number(promised)}",
        found=number(own),
        evidence=counted_by(diagnosis.facts),
        help="divide by the promised number, or promise the one that is meant",
        details={"terms": [term.name for _, term in chosen]},
    )


RULE = Rule(
    code="SEM803", name="denominator-differs", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
