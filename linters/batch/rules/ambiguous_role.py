"""Two arrays of the batch have names of one role, and hold different values.

## What it does
Where the contract does not say which array plays a part, the first of its usual names is taken (`targets` before
`labels`). Tells where another array of the batch has such a name too and is not its equal.

## Why is this bad?
One of the two is what the step learns from, and the other is what was checked. A batch with both `targets` and `labels`
is usually one that was shifted on the way.

## Example
```python
batch = {"tokens": tokens, "labels": tokens, "targets": shifted}
```

## Use instead
```yaml
data: { fields: { tokens: {}, targets: { role: targets } } }   # and no labels in the file
```

## What stays clean
Copies; a contract that gives the role to one of them.

## References
- https://github.com/huggingface/transformers/issues/32944
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    import numpy

    batch = evidence.batch
    given = {entry.role for entry in evidence.data.batch_fields.values() if entry.role is not None}
    for role, taken in batch.roles.items():
        if role in given:
            continue
        for name in evidence.data.names_of(role):
            if name == taken or name not in batch.arrays:
                continue
            if not numpy.array_equal(batch.arrays[name], batch.arrays[taken]):
                what = role.replace("_", " ")
                yield evidence.finding(
                    RULE,
                    f"{taken} and {name} are both names of {what}, and hold different values: {taken} was checked, "
                    f"{name} was not",
                    subject=name,
                    expected=f"one array of {what}",
                    found=f"{taken} and {name}",
                    help=f"leave one out, or say which it is: data.fields.{taken}.role: {role}",
                )


RULE = Rule(
    code="DAT612",
    name="ambiguous-role",
    severity="warning",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
