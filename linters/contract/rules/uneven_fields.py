"""Two fields that have one element for each token have different shapes.

## What it does
Compares the shapes of tokens, targets, segment ids, positions, loss mask and loss weights with each other, in
`data.fields` and in what each stage of `data.stages` gives.

## Why is this bad?
Where the sizes still broadcast - a mask for each row, targets of one token less - the loss counts other tokens than
meant, and where they do not the step fails at its first batch.

## Example
```yaml
data: { fields: { tokens: { shape: [batch, sequence] }, loss_mask: { shape: [batch, 1] } } }
```

## Use instead
```yaml
data: { fields: { tokens: { shape: [batch, sequence] }, loss_mask: { shape: [batch, sequence] } } }
```

## References
- https://github.com/EleutherAI/gpt-neo/pull/45
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..stages import FOR_EACH_TOKEN, given, known_sizes, spelled
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    sizes = known_sizes(view)
    told: set[tuple[str, tuple]] = set()
    for _, fields in given(view):
        shaped = [field for field in fields.values() if field.role in FOR_EACH_TOKEN and field.shape is not None]
        shaped.sort(key=lambda field: FOR_EACH_TOKEN.index(field.role or ""))
        for field in shaped[1:]:
            first, own = shaped[0].shape or (), field.shape or ()
            if [sizes.get(str(dim), dim) for dim in first] == [sizes.get(str(dim), dim) for dim in own]:
                continue
            if (field.name, own) not in told:
                yield view.finding(
                    RULE,
                    field.at("shape"),
                    f"{field.name} is {spelled(own)}, and {shaped[0].name} is {spelled(first)}",
                    expected=spelled(first),
                    found=spelled(own),
                    help=f"it is taken for the {str(field.role).replace('_', ' ')}; if it is not, say its `role`",
                )
            told.add((field.name, own))


RULE = Rule(code="DAT013", name="uneven-fields", severity="error", evidence="contract", doc=__doc__ or "", check=check)
