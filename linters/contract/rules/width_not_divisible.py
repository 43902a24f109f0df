"""The model's width does not split into its heads.

## What it does
Divides `model.d_model` by `model.heads` where `model.head_dim` is not given.

## Why is this bad?
The width of a head, and with it the shape of every attention weight, would not be a whole number.

## Example
```yaml
model: { kind: dense, layers: 2, d_model: 100, heads: 8,
         kv_heads: 2, d_ff: 128, vocab: 64, sequence: 32 }
```

## Use instead
```yaml
model: { kind: dense, layers: 2, d_model: 96, heads: 8,
         kv_heads: 2, d_ff: 128, vocab: 64, sequence: 32 }
```

## References
- https://arxiv.org/abs/1706.03762
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    width, heads = view.integer("model", "d_model"), view.integer("model", "heads")
    if width is not None and heads is not None and view.get("model", "head_dim") is None and width % heads:
        yield view.finding(
            RULE,
            ("model", "d_model"),
            f"a width of {width} does not split into {heads} heads",
            expected=f"a multiple of {heads}, or `head_dim`",
            found=str(width),
        )


RULE = Rule(
    code="SEM002",
    name="width-not-divisible",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
