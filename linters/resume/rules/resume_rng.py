"""A run that was taken up again draws from other random keys than one that was not.

## What it does
With `checkpoint resume`, compares what the step's `resumable` tells as `rng` behind each resume with the run that never
stopped.

## Why is this bad?
Dropout repeats the masks of the first steps, or takes others: the loss cannot be compared, and nobody can run the same
step again.

## Example
```python
key = jax.random.key(0)   # made anew at each start, and split once a step
```

## Use instead
```python
key = jax.random.fold_in(jax.random.key(seed), state.step)
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/276
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.resume import RNG
from ...rule import Rule
from ..evidence import ResumeEvidence


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    different = evidence.first_difference(RNG)
    if different is None:
        return
    before, seen = different.before, different.seen
    now = seen.values.get(RNG)
    like = evidence.step_with(RNG, now)
    if now is None:
        said = "tells of no keys"
    else:
        said = f"draws from the keys of step {like:,}" if like is not None else "draws from other keys"
    yield evidence.finding(
        RULE,
        f"behind {different.which}, step {seen.step:,} {said}",
        subject="rng",
        expected=before.values[RNG],
        found=now or "nothing",
        help="save the key with the state, or derive it from a saved seed and the step",
        details={"leg": different.leg, "anew": evidence.from_the_start(different)},
    )


RULE = Rule(
    code="CKP703",
    name="resume-rng",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
