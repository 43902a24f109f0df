"""The gradient is no sum of the promised terms.

## What it does
Reports a gradient of which a part is left when the gradients of all promised terms are taken off with the best factors,
and which no mean over microbatches or devices explains either. Where each microbatch is the promised one times a factor
of its own, as behind a clip of each, that is said.

## Why is this bad?
Something else is minimised than what the contract names: rows that are left out, a mask that is applied to another
term, a gradient clipped in every microbatch, a regulariser that nobody promised.

## Example
```python
loss = cross_entropy + 1e-3 * jnp.sum(params["head"] ** 2)  # not in loss_terms
```

## Use instead
```python
loss_terms = {
    "cross_entropy": (losses, tokens),
    "head_norm": (jnp.sum(params["head"] ** 2), 1.0),
}
```

## References
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule
from ..diagnosis import REST
from ..microbatches import of_step
from ..wording import loss_line, with_microbatches


def check(evidence: StepEvidence) -> Iterable[Finding]:
    diagnosis = evidence.diagnosis
    left = [each for each in (diagnosis.measured if diagnosis is not None else ()) if each.rest is not None]
    if not left:
        return
    worst = max(left, key=lambda each: each.rest or 0.0)
    counts = [each.fact.microbatches for each in left]
    factors = next((found for each in left if diagnosis and (found := of_step(diagnosis, each.fact))), None)
    yield RULE.finding(
        f"{worst.rest:.3g} of the gradient of step `{evidence.name}` belongs to no promised term "
        f"{with_microbatches(counts)}{f': {factors.words()}' if factors is not None else ''}",
        subject=evidence.name,
        location=evidence.place("objective.terms"),
        key="objective.terms",
        expected=f"at most {REST:g} of its length",
        found=f"{worst.rest:.3g}",
        evidence=tuple(
            f"N={each.fact.microbatches}: {each.rest:.3g} left, cosine to the promised gradient {each.cosine:.6f}; "
            f"{loss_line(each)}"
            for each in left
        )
        + tuple(
            f"`{name}` has no gradient in `loss_terms`, though its sum depends on the parameters"
            for name in sorted(diagnosis.lifeless if diagnosis is not None else ())
        ),
        help="`loss_and_grads` gives what is added up, before any clip: add up first, then clip the sum once"
        if factors is not None and factors.clipped
        else _advice(counts, [each.fact.microbatches for each in (diagnosis.measured if diagnosis else ())]),
    )


def _advice(wrong: list[int], measured: list[int]) -> str:
    if 1 not in wrong and 1 in measured:
        return "one microbatch is right: look at how microbatches are split, masked and added up"
    return "give every term in `loss_terms`, with the rows and the mask that the loss itself uses"


RULE = Rule(
    code="SEM808", name="gradient-unexplained", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
