"""Two fields of a batch are declared to play the same part.

## What it does
Looks for a `role` that is given twice in `data.fields`, or in what one stage of `data.stages` gives.

## Why is this bad?
Which of the two is checked, shown and counted would be chance.

## Example
```yaml
data: { fields: { tokens: { role: tokens }, input_ids: { role: tokens } } }
```

## Use instead
```yaml
data: { fields: { tokens: { role: tokens }, input_ids: {} } }
```

## References
- https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..stages import THE_BATCH, given
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for owner, fields in given(view):
        first: dict[str, str] = {}
        for name, field in fields.items():
            role = view.text(*field.at("role"))
            if role is None:
                continue
            if role in first:
                of = "" if owner == THE_BATCH else f", given by {owner}"
                yield view.finding(
                    RULE,
                    field.at("role"),
                    f"{name} and {first[role]} are both declared the {role.replace('_', ' ')} of the batch{of}",
                    expected="one field for each role",
                    found=role,
                )
            first.setdefault(role, name)


RULE = Rule(code="DAT003", name="repeated-role", severity="error", evidence="contract", doc=__doc__ or "", check=check)
