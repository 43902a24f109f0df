"""An item that the step says it has is not there.

## What it does
Compares the items in `_CHECKPOINT_METADATA` with the folders of the step.

## Why is this bad?
A restore that asks for what is there goes on without it: without the data cursor, a run begins its data anew.

## Example
```sh
contract-lint checkpoint check run/1000   # state/ alone; saved were state and data
```

## Use instead
```sh
contract-lint checkpoint check run/1000   # state/ and data/
```

## References
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import CheckpointEvidence


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    for name in evidence.checkpoint.absent_items:
        yield evidence.finding(
            RULE,
            f"the item {name} was saved with this step, and is not there",
            subject=name,
            expected=f"a folder {name}",
            found=", ".join(item.name for item in evidence.checkpoint.items) or "no item",
            help="bring it back, or restore another step",
        )


RULE = Rule(
    code="CKP610",
    name="item-missing",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
