"""An array that the contract declares is not in the batch, or one is there that it does not know.

## What it does
Compares the names of the arrays with `data.fields`. Says nothing where the contract lists no fields.

## Why is this bad?
A step that does not get its loss mask or its segment ids falls back on a default, and trains on something else.

## Example
```yaml
data: { fields: { tokens: {}, targets: {}, loss_mask: {} } }   # the file: tokens, targets
```

## Use instead
```yaml
data: { fields: { tokens: {}, targets: {} } }
```

## References
- https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.suggest import nearest
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    if not evidence.data.batch_fields:
        return
    there = list(evidence.batch.arrays)
    for name in evidence.data.batch_fields:
        if name not in evidence.batch.arrays:
            near = nearest(name, [each for each in there if each not in evidence.data.batch_fields])
            yield evidence.finding(
                RULE,
                f"{name} is not in the batch",
                subject=name,
                key=f"{evidence.data.fields_key}.{name}",
                expected=f"an array {name}",
                found=", ".join(there) or "no array",
                help=f"is it {near}?" if near else "write it, or take it out of the contract",
            )
    for name in there:
        if name not in evidence.data.batch_fields:
            yield evidence.finding(
                RULE,
                f"{name} is in the batch and not in the contract",
                subject=name,
                key=evidence.data.fields_key,
                severity="warning",
                expected=", ".join(evidence.data.batch_fields),
                found=name,
                help="say what it is: data.fields, with its role, shape and dtype",
            )


RULE = Rule(
    code="DAT601",
    name="batch-field-missing",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
