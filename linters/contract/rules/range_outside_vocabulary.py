"""The range that is promised of tokens or targets allows ids that the tokenizer does not have.

## What it does
Compares the `range` of tokens and targets, in `data.fields` and in what each stage of `data.stages` gives, with
`data.tokenizer.vocab`. Numbers below 0 are left alone: some losses skip them. Named is the first place.

## Why is this bad?
A range is what a batch is held to. One that is too wide lets an id pass for which the model's table has no row, and JAX
gives the last row instead of an error.

## Example
```yaml
data: { tokenizer: { vocab: 64 }, fields: { tokens: { range: [0, 64] } } }
```

## Use instead
```yaml
data: { tokenizer: { vocab: 64 }, fields: { tokens: { range: [0, 63] } } }
```

## References
- https://github.com/mlfoundations/open_lm/pull/77
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#out-of-bounds-indexing
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..stages import given
from ..view import View
from .dtype_too_narrow import IDS


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    vocab = view.integer("data", "tokenizer", "vocab")
    told: set[tuple[str, float]] = set()
    for _, fields in given(view) if vocab is not None else ():
        for field in fields.values():
            most = field.range[1] if field.range is not None and field.role in IDS else None
            if vocab is None or most is None or most < vocab or (field.name, most) in told:
                continue
            told.add((field.name, most))
            yield view.finding(
                RULE,
                field.at("range"),
                f"{field.name} may be up to {most:,}, and the vocabulary has {vocab:,} ids",
                expected=f"at most {vocab - 1}",
                found=str(most),
            )


RULE = Rule(
    code="DAT015",
    name="range-outside-vocabulary",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
