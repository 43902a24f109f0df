"""A field's dtype cannot hold its values.

## What it does
Compares the integer `dtype` of every field, in `data.fields` and in what each stage of `data.stages` gives, with its
`range`, and where it has none, that of tokens and targets with `data.tokenizer.vocab`, of positions with the length
of a row. A range that ends between whole numbers is none of an integer. Named is the first place where a field is
narrow.

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

import math
import re
from collections.abc import Iterable, Mapping

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..stages import StageField, given, known_sizes
from ..view import View

IDS = ("tokens", "targets")


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    vocab = view.integer("data", "tokenizer", "vocab")
    sizes = known_sizes(view)
    told: set[tuple[str, str | None]] = set()
    for _, fields in given(view):
        for field in fields.values():
            holds, needs = _holds(field.dtype), _needs(field, vocab, sizes)
            if (
                holds is not None
                and field.range is not None
                and any(math.isfinite(each) and each % 1 for each in field.range)
            ):
                if (field.name, field.dtype) not in told:
                    yield view.finding(
                        RULE,
                        field.at("range"),
                        f"{field.name} is {field.dtype}, whose values are whole numbers, and its range is "
                        f"{field.range[0]:,} to {field.range[1]:,}",
                        expected="whole numbers, or a dtype such as float32",
                        found=f"{list(field.range)}",
                    )
                told.add((field.name, field.dtype))
                continue
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


def _needs(field: StageField, vocab: int | None, sizes: Mapping[str, int]) -> tuple[float, float, str] | None:
    """Least and greatest value that it must hold, and what says so."""
    if field.range is not None:
        return *field.range, f"its range is {field.range[0]:,} to {field.range[1]:,}"
    if field.role in IDS and vocab is not None:
        return 0, vocab - 1, f"the vocabulary has {vocab:,} ids"
    last = field.shape[-1] if field.shape else None
    length = sizes.get(last) if isinstance(last, str) else last
    if field.role == "positions" and length:
        return 0, length - 1, f"a row has {length:,} positions"
    return None


RULE = Rule(
    code="DAT014",
    name="dtype-too-narrow",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
