"""The batch does not split into its microbatches.

## What it does
Divides `batch.size` by `accumulation.microbatches`.

## Why is this bad?
A last, smaller microbatch weighs its examples more, or is dropped; either way it is not the promised loss.

## Example
```yaml
accumulation: { microbatches: 3 }
batch: { size: 16, axes: [data] }
```

## Use instead
```yaml
accumulation: { microbatches: 4 }
batch: { size: 16, axes: [data] }
```

## References
- https://github.com/ml-explore/mlx-lm/issues/1413
- https://github.com/huggingface/transformers/issues/35203
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    size, parts = view.integer("batch", "size"), view.integer("accumulation", "microbatches")
    if size is not None and parts is not None and size % parts:
        yield view.finding(
            RULE,
            ("accumulation", "microbatches"),
            f"a batch of {size} does not split into {parts} microbatches",
            expected=f"a divisor of {size}",
            found=str(parts),
        )


RULE = Rule(
    code="DAT001",
    name="microbatches-not-divisible",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
