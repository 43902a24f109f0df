"""What a parameter means in training is not what the lock says.

## What it does
Compares initialiser, decay, learning rate, clip, dtype, shape and placement of every parameter, as measured on the
step, with the committed lock. Parameters that change alike are one finding.

## Why is this bad?
A refactor that renames a module takes its norms into the weight decay, its embedding out of a learning-rate group, or
gives it another initialiser. Every test passes, and the next run is another experiment.

## Example
```python
optax.adamw(rate, mask=not_called_scale)
# after a rename of `scale` to `gain`, all norms decay
```

## Use instead
```console
contract-lint lock train.contract.yaml --update --why "norms decay on purpose"
```

## References
- https://github.com/ServiceNow/Fast-LLM/pull/545
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....contracts.finding import Finding
from ....contracts.lock import FIELDS
from ...cut import shown
from ...rule import Rule
from ..evidence import LockEvidence, place_of

WORDS = {
    "shape": "shape",
    "dtype": "dtype",
    "placement": "placement",
    "start": "initialiser",
    "decay": "weight decay",
    "rate": "factor of the learning rate",
    "clip": "clip",
}


def check(evidence: LockEvidence) -> Iterable[Finding]:
    for step, locked in evidence.locked.steps.items():
        found = evidence.found.steps.get(step, {})
        groups: dict[tuple[str, Any, Any], list[str]] = {}
        for path in locked.keys() & found.keys():
            for name in FIELDS:
                before, after = getattr(locked[path], name), getattr(found[path], name)
                if before != after:
                    groups.setdefault((name, before, after), []).append(path)
        for (name, before, after), paths in sorted(
            groups.items(), key=lambda item: (FIELDS.index(item[0][0]), item[1])
        ):
            paths.sort()
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            yield RULE.finding(
                f"{WORDS[name]} of `{paths[0]}`{more} in step `{step}` is {_shown(after)}, locked is {_shown(before)}",
                subject=f"{step} {name} {paths[0]}",
                location=place_of(locked[paths[0]], evidence.locked),
                key=f"steps.{step}",
                expected=_shown(before),
                found=_shown(after),
                evidence=shown(paths),
                help='if it is meant: `contract-lint lock CONTRACT --update --why "..."`',
                step=step,
            )


def _shown(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, tuple):
        inside = ", ".join("+".join(each) or "-" if isinstance(each, tuple) else str(each) for each in value)
        return f"[{inside}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


RULE = Rule(
    code="SEM901", name="locked-meaning-changed", severity="error", evidence="lock", doc=__doc__ or "", check=check
)
