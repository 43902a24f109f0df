"""The query heads do not share the key/value heads evenly.

## What it does
Divides `model.heads` by `model.kv_heads`.

## Why is this bad?
In grouped-query attention every key/value head serves the same number of query heads; no such model exists otherwise.

## Example
```yaml
model: { kind: dense, layers: 2, d_model: 64, heads: 8,
         kv_heads: 3, d_ff: 128, vocab: 64, sequence: 32 }
```

## Use instead
```yaml
model: { kind: dense, layers: 2, d_model: 64, heads: 8,
         kv_heads: 2, d_ff: 128, vocab: 64, sequence: 32 }
```

## References
- https://arxiv.org/abs/2305.13245
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    heads, shared = view.integer("model", "heads"), view.integer("model", "kv_heads")
    if heads is not None and shared is not None and heads % shared:
        yield view.finding(
            RULE,
            ("model", "kv_heads"),
            f"{heads} heads are not a multiple of {shared} key/value heads",
            expected=f"a divisor of {heads}",
            found=str(shared),
        )


RULE = Rule(
    code="SEM001",
    name="heads-not-divisible",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
