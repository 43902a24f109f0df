"""Random numbers are drawn for something else than promised.

## What it does
Gives every microbatch the same rows and lets only one of them count. The gradients for two microbatches are equal
exactly where both draw the same numbers. Likewise two steps on one batch, with equal parameters. `rng.streams` promises
what each stream is drawn anew for.

## Why is this bad?
With one key for all microbatches each drops the same units: the noise is correlated, N times as strong as with one
large batch. A mask that was to be shared and is drawn anew is the same mistake the other way round.

## Example
```python
def body(total, micro):
    # the same key in every microbatch
    return total + jax.grad(loss)(params, micro, key), None
```

## Use instead
```python
def body(total, given):
    micro, index = given
    own = jax.random.fold_in(key, index)
    return total + jax.grad(loss)(params, micro, own), None
```

## References
- https://github.com/google-research/vision_transformer/issues/286
- https://github.com/alpa-projects/alpa/issues/592
- https://github.com/AI-Hypercomputer/maxtext/pull/276
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ...evidence import StepEvidence
from ...rule import Rule

SAME = 1e-3
"""Gradients closer than this, relative, are made with the same numbers: what bfloat16 arithmetic leaves of equality."""


def check(evidence: StepEvidence) -> Iterable[Finding]:
    facts, rng = evidence.semantics, evidence.contract.rng
    if facts is None or facts.draws is None or rng is None or not rng.streams:
        return
    draws, streams = facts.draws, rng.streams
    key = format_key(("rng", "streams", next(iter(streams)))) if len(streams) == 1 else "rng.streams"
    names = ", ".join(f"`{name}`" for name in streams)
    if not draws.random:
        yield _finding(evidence, key, f"step `{evidence.name}` draws no random numbers", f"stream {names}", "none")
        return
    for what, apart in (("microbatch", draws.microbatches), ("step", draws.steps)):
        if apart is None:
            continue
        promised = any(what in granularity for granularity in streams.values())
        if promised and apart < SAME:
            every = {"microbatch": "all microbatches of a step", "step": "every step"}[what]
            yield _finding(
                evidence,
                key,
                f"{every} of `{evidence.name}` draw{'s' * (what == 'step')} the same random numbers: promised for "
                f"{names} are new ones for each {what}",
                f"new numbers for each {what}",
                f"gradients that differ by {apart:.2g} of their length",
            )
        elif not promised and apart >= SAME:
            yield _finding(
                evidence,
                key,
                f"step `{evidence.name}` draws {names} anew for each {what}, which is not promised",
                f"the same numbers for each {what}",
                f"gradients that differ by {apart:.2g} of their length",
            )


def _finding(evidence: StepEvidence, key: str, message: str, expected: str, found: str) -> Finding:
    return RULE.finding(
        message,
        subject=f"{evidence.name} {message.partition('`')[0]}",
        location=evidence.place(key),
        key=key,
        expected=expected,
        found=found,
        help="derive the key of each use: fold_in(fold_in(root, step), microbatch)",
    )


RULE = Rule(
    code="SEM813", name="random-granularity", severity="error", evidence="semantics", doc=__doc__ or "", check=check
)
