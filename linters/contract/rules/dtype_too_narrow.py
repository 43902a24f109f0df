"""A field's dtype cannot hold its values.

## What it does
Compares the integer `dtype` of every field, in `data.fields` and in what each stage of `data.stages` gives, with its
`range`, and that of tokens and targets with `data.tokenizer.vocab`. Named is the first place where a field is narrow.

## Why is this bad?
Casting wraps around without a word: with more than 65,536 ids stored as uint16, the rarest words become other words.

## Example
```yaml
data:
  tokenizer: { vocab: 119547 }
  stages: [{ kind: tokenise, output: { tokens: { dtype: uint16 } } }]
```

## Use instead
```yaml
data:
  tokenizer: { vocab: 119547 }
  stages: [{ kind: tokenise, output: { tokens: { dtype: int32 } } }]
```

## References
- https://github.com/huggingface/transformers/issues/2825
- https://github.com/huggingface/datatrove/issues/118
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..stages import StageField, given
from ..view import View

IDS = ("tokens", "targets")


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    vocab = view.integer("data", "tokenizer", "vocab")
    told: set[tuple[str, str | None]] = set()
    for _, fields in given(view):
        for field in fields.values():
            holds, needs = _holds(field.dtype), _needs(field, vocab)
            if holds is None or needs is None or (holds[0] <= needs[0] and needs[1] <= holds[1]):
                continue
            if (field.name, field.dtype) not in told:
                yield view.finding(
                    RULE,
                    field.at("dtype"),
                    f"{field.name} is {field.dtype}, which holds {holds[0]:,} to {holds[1]:,}, and {needs[2]}",
                    expected=f"a dtype that holds {needs[0]:,} to {needs[1]:,}",
                    found=field.dtype,
                )
            told.add((field.name, field.dtype))


def _holds(dtype: str | None) -> tuple[int, int] | None:
    """Least and greatest value of an integer dtype."""
    if dtype == "bool":
        return 0, 1
    named = re.fullmatch(r"(u?)int(8|16|32|64)", dtype or "")
    if named is None:
        return None
    bits = int(named[2])
    return (0, 2**bits - 1) if named[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _needs(field: StageField, vocab: int | None) -> tuple[float, float, str] | None:
    """Least and greatest value that it must hold, and what says so."""
    if field.range is not None:
        return *field.range, f"its range is {field.range[0]:,} to {field.range[1]:,}"
    if field.role in IDS and vocab is not None:
        return 0, vocab - 1, f"the vocabulary has {vocab:,} ids"
    return None


RULE = Rule(
    code="DAT014",
    name="dtype-too-narrow",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
