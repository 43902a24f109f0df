"""The optimizer keeps other slots than the promised one does.

## What it does
Counts the arrays of each parameter's shape in the optimizer state: two for adam and adamw, one for momentum, none for
sgd.

## Why is this bad?
The optimizer decides what is learnt and half of the state memory. A slot that is missing or too many is another
optimizer than the one the team reviewed.

## Example
```yaml
# the state holds one array per parameter: momentum
optimizer: { name: adamw }
```

## Use instead
Build the promised optimizer, or correct the contract.

## References
- https://optax.readthedocs.io/en/latest/api/optimizers.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule

SLOTS = {"adam": 2, "adamw": 2, "momentum": 1, "sgd": 0}


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.contract.optimizer
    if section is None:
        return
    rows = evidence.tensors.rows
    parameters = sum(row.class_ == "parameter" for row in rows)
    slots = sum(row.class_ == "optimizer_slot" for row in rows)
    expected = SLOTS[section.name] * parameters
    if parameters == 0 or slots == expected:
        return
    yield RULE.finding(
        f"{section.name} keeps {expected} slot arrays for {parameters} parameters, the state holds {slots}",
        subject="slots",
        location=evidence.place("optimizer.name"),
        key="optimizer.name",
        expected=f"{expected} arrays",
        found=f"{slots} arrays",
        help="build the promised optimizer, or correct `optimizer.name`",
    )


RULE = Rule(code="SEM202", name="optimizer-slots", severity="error", evidence="program", doc=__doc__ or "", check=check)
