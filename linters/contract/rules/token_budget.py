"""The tokens of a run are not its steps times its batch.

## What it does
Compares `training.tokens` with `training.steps` x `batch.size` x `model.sequence`.

## Why is this bad?
Runs are compared at equal tokens. A budget that does not follow from the batch belongs to another batch.

## Example
```yaml
training: { steps: 1000, tokens: 1000000 }
batch: { size: 16 }
```

## Use instead
```yaml
training: { steps: 1000, tokens: 512000 }
batch: { size: 16 }
```

## References
- https://github.com/verl-project/verl/issues/5625
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    steps, tokens = view.integer("training", "steps"), view.integer("training", "tokens")
    size, sequence = view.integer("batch", "size"), view.integer("model", "sequence")
    if steps is None or tokens is None or size is None or sequence is None or tokens == steps * size * sequence:
        return
    yield view.finding(
        RULE,
        ("training", "tokens"),
        f"{steps:,} steps of {size} x {sequence} positions are {steps * size * sequence:,} tokens, promised are "
        f"{tokens:,}",
        expected=str(steps * size * sequence),
        found=str(tokens),
    )


RULE = Rule(
    code="SEM009",
    name="token-budget",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
