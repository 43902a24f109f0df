"""A term is averaged over microbatches or devices that count different numbers of tokens.

## What it does
Looks in the step's gradient for each term's own mean of every microbatch (or of every device's rows), where one
division by all counted tokens of the step is promised. The probed batch counts another number in each.

## Why is this bad?
A token in a short microbatch then weighs more than one in a long microbatch. The run converges, and its loss often
agrees to three digits; only the gradient shows it.

## Example
```python
def part(params, micro):
    return jnp.sum(losses(params, micro) * micro["mask"]) / jnp.sum(micro["mask"])

grads = total_of(jax.grad(part)) / microbatches
```

## Use instead
```python
tokens = jnp.sum(batch["mask"])  # of the whole step

def part(params, micro):
    return jnp.sum(losses(params, micro) * micro["mask"]) / tokens
```

## References
- https://github.com/huggingface/transformers/issues/35203
- https://github.com/meta-pytorch/torchtune/issues/1875
- https://github.com/ml-explore/mlx-lm/issues/1413
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.semantics import MEANS, SHARDS
from ...evidence import StepEvidence
from ...rule import Rule
from ..diagnosis import Found
from ..meaning import number
from ..wording import counted_by, loss_line, term_key, terms, with_microbatches


def check(evidence: StepEvidence) -> Iterable[Finding]:
    diagnosis = evidence.diagnosis
    if diagnosis is None:
        return
    by_kind: dict[str, list[Found]] = {}
    for measured in diagnosis.measured:
        for found in measured.found:
            if found.by in (MEANS, SHARDS):
                by_kind.setdefault(found.by, []).append(found)
    if by_kind:
        # The mean over devices is looked for in one microbatch, and is no other fault where there are more.
        yield _finding(evidence, by_kind.get(MEANS) or by_kind[SHARDS])


def _finding(evidence: StepEvidence, found: list[Found]) -> Finding:
    diagnosis = evidence.diagnosis
    assert diagnosis is not None
    counts = [each.setting.microbatches for each in found]
    means = [each for each in diagnosis.measured if each.fact.microbatches in counts]
    worst = min(means, key=lambda each: each.cosine)
    by_device = found[0].by == SHARDS
    if by_device:
        what = f"the counted tokens of each device's rows and then by {found[0].setting.sizes.parts} devices"
    else:
        tokens = ", ".join(number(count) for count in worst.fact.tokens)
        what = f"each microbatch's own counted tokens ({tokens}) and then by {worst.fact.microbatches}"
    promised, index = found[0].setting.sizes.tokens, found[0].index
    names = terms(found)
    return RULE.finding(
        f"{names} divided by {what}; promised is one division by the {number(promised or 0)} of the step: the "
        f"gradient is another one {with_microbatches(counts)}",
        subject=f"{evidence.name} {names}",
        location=evidence.place(term_key(index, "normaliser")),
        key=term_key(index, "normaliser"),
        expected=str(found[0].term.normaliser),
        found="a mean over devices" if by_device else "a mean of microbatch means",
        evidence=tuple(
            f"N={each.fact.microbatches}: cosine to the promised gradient {each.cosine:.6f}; {loss_line(each)}"
            for each in means
        )
        + counted_by(diagnosis.facts),
        help="add up the microbatches and devices first, and divide once by the counted tokens of the whole step",
        details={"terms": sorted({each.term.name for each in found})},
    )


RULE = Rule(
    code="SEM805", name="microbatch-means", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
