"""The step has other parameters than the lock.

## What it does
Compares the paths of all parameters with those of the committed lock.

## Why is this bad?
A parameter that appears or goes away changes the model, its checkpoints and every pattern that names it.

## Example
```python
self.gate = nnx.Linear(width, inner)  # not in the lock
```

## Use instead
```console
contract-lint lock train.contract.yaml --update --why "a gate in the MLP"
```

## References
- https://github.com/ServiceNow/Fast-LLM/pull/545
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...rule import Rule
from ..evidence import LockEvidence, place_of


def check(evidence: LockEvidence) -> Iterable[Finding]:
    for step in sorted({*evidence.locked.steps, *evidence.found.steps}):
        locked, found = evidence.locked.steps.get(step, {}), evidence.found.steps.get(step, {})
        gone, new = sorted(locked.keys() - found.keys()), sorted(found.keys() - locked.keys())
        if not gone and not new:
            continue
        said = [
            f"{len(paths)} {word} (`{paths[0]}`{', ...' * (len(paths) > 1)})"
            for paths, word in ((new, "new"), (gone, "gone"))
            if paths
        ]
        yield RULE.finding(
            f"step `{step}` has other parameters than the lock: {' and '.join(said)}",
            subject=step,
            location=place_of(locked[gone[0]] if gone else None, evidence.locked),
            key=f"steps.{step}",
            expected=f"{len(locked)} parameters",
            found=f"{len(found)} parameters",
            evidence=shown([f"new: {path}" for path in new] + [f"gone: {path}" for path in gone]),
            help='if it is meant: `contract-lint lock CONTRACT --update --why "..."`',
            step=step,
        )


RULE = Rule(
    code="SEM902", name="locked-parameters-differ", severity="error", evidence="lock", doc=__doc__ or "", check=check
)
