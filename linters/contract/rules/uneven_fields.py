"""Two fields that have one element for each token have different shapes.

## What it does
Compares the shapes of tokens, targets, segment ids, positions, loss mask and loss weights with each other, in
`data.fields` and in what each stage of `data.stages` gives. Tokens may hold inputs and targets in one where no targets
are listed: `[batch, length]` beside masks of `[batch, sequence]`, the length one more, or `shift: model` promised.

## Why is this bad?
Where the sizes still broadcast - a mask for each row, targets of one token less - the loss counts other tokens than
meant, and where they do not the step fails at its first batch.

## Example
```yaml
data: { fields: { tokens: { shape: [batch, sequence] }, loss_mask: { shape: [batch, 1] } } }
```

## Use instead
```yaml
data:
  fields: { tokens: { shape: [batch, sequence] }, loss_mask: { shape: [batch, sequence] } }
```

## References
- https://github.com/EleutherAI/gpt-neo/pull/45
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..stages import FOR_EACH_TOKEN, UNKNOWN, StageField, given, known_sizes, spelled
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    sizes = known_sizes(view)
    told: set[tuple[str, tuple]] = set()
    for _, fields in given(view):
        shaped = [field for field in fields.values() if field.role in FOR_EACH_TOKEN and field.shape is not None]
        sizes_of = {field.name: tuple(sizes.get(str(dim), dim) for dim in field.shape or ()) for field in shaped}
        # What most say is right; of as many, what the tokens say.
        shaped.sort(key=lambda field: FOR_EACH_TOKEN.index(field.role or ""))
        most = Counter(sizes_of[field.name] for field in shaped).most_common(1)
        like = next((field for field in shaped if sizes_of[field.name] == most[0][0]), None)
        if _tokens_hold_targets(view, fields, [field for field in shaped if field.role != "tokens"], sizes_of):
            continue
        for field in shaped:
            own = field.shape or ()
            if like is None or sizes_of[field.name] == most[0][0] or (field.name, own) in told:
                continue
            told.add((field.name, own))
            yield view.finding(
                RULE,
                field.at("shape"),
                f"{field.name} is {spelled(own)}, and {like.name} is {spelled(like.shape or ())}",
                expected=spelled(like.shape or ()),
                found=spelled(own),
                help=f"it is taken for the {str(field.role).replace('_', ' ')}; if it is not, say its `role`",
            )


def _tokens_hold_targets(
    view: View, fields: Mapping[str, StageField], others: list[StageField], sizes_of: Mapping[str, tuple]
) -> bool:
    """Whether the tokens are inputs and targets in one: no targets, all other arrays alike, and a column more; where
    names do not tell how many, `shift: model` says so."""
    tokens = [sizes_of[field.name] for field in fields.values() if field.role == "tokens" and field.name in sizes_of]
    rest = {sizes_of[field.name] for field in others}
    if any(field.role in ("targets", UNKNOWN) for field in fields.values()) or len(tokens) != 1 or len(rest) != 1:
        return False
    (own,), (other,) = tokens, rest
    if len(own) != 2 or len(other) != 2 or own[0] != other[0]:
        return False
    if isinstance(own[1], int) and isinstance(other[1], int):
        return own[1] == other[1] + 1
    return own[1] != other[1] and view.text("data", "shift") == "model"


RULE = Rule(code="DAT013", name="uneven-fields", severity="error", evidence="contract", doc=__doc__ or "", check=check)
