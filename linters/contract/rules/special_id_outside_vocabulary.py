"""A special id is not below the size of the vocabulary.

## What it does
Compares every id of `data.tokenizer` with `vocab`, and `vocab` with the rows of the model's table.

## Why is this bad?
An id without a row is clamped to the last row when it is looked up: padding or the end of a document then trains the
vector of another token, without an error.

## Example
```yaml
data: { tokenizer: { vocab: 64, pad_id: 64 } }
```

## Use instead
```yaml
data: { tokenizer: { vocab: 64, pad_id: 63 } }
```

## References
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#out-of-bounds-indexing
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import Key
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    vocab = view.integer("data", "tokenizer", "vocab")
    if vocab is None:
        return
    for key in _ids(view):
        value = view.get(*key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= vocab:
            yield view.finding(
                RULE,
                key,
                f"{key[-1]} is {value:,}, and the vocabulary has {vocab:,} ids",
                expected=f"0 to {vocab - 1}",
                found=str(value),
            )
    rows = view.integer("model", "vocab")
    if rows is not None and rows < vocab:
        yield view.finding(
            RULE,
            ("data", "tokenizer", "vocab"),
            f"the tokenizer has {vocab:,} ids, and the model's table {rows:,} rows",
            expected=f"at most {rows}",
            found=str(vocab),
        )


def _ids(view: View) -> Iterable[Key]:
    for name in view.mapping("data", "tokenizer"):
        if name.endswith("_id"):
            yield "data", "tokenizer", name
    for name in view.mapping("data", "tokenizer", "special"):
        yield "data", "tokenizer", "special", name


RULE = Rule(
    code="DAT005",
    name="special-id-outside-vocabulary",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
