"""No declared input shape is the promised batch.

## What it does
Looks among the shapes of every input of rank two or more for one that starts with `batch.size` and the model's
`sequence`.

## Why is this bad?
The plan, the memory and the collectives are those of the batch section; the loop would feed the step something else.

## Example
```yaml
batch: { size: 16, axes: [data] }
step:
  train: { entry: my_pkg.train:build, signatures: { tokens: [[8, 32]] } }
```

## Use instead
```yaml
batch: { size: 16, axes: [data] }
step:
  train: { entry: my_pkg.train:build, signatures: { tokens: [[16, 32]] } }
```

## References
- https://docs.jax.dev/en/latest/jit-compilation.html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    size, sequence = view.integer("batch", "size"), view.integer("model", "sequence")
    steps = list(view.mapping("step"))
    promised = [size, sequence] if sequence is not None else [size]
    if size is None or not steps or (len(steps) > 1 and "train" not in steps):
        return
    name = "train" if "train" in steps else steps[0]
    for argument, shapes in view.mapping("step", name, "signatures").items():
        if not isinstance(shapes, list) or not shapes or not all(isinstance(s, list) and len(s) >= 2 for s in shapes):
            continue
        if not any(shape[: len(promised)] == promised for shape in shapes):
            yield view.finding(
                RULE,
                ("step", name, "signatures", argument),
                f"`{argument}` is fed {_shapes(shapes)}, the promised batch is {_shapes([promised])}",
                expected=_shapes([promised]),
                found=_shapes(shapes),
            )


def _shapes(shapes: list[Any]) -> str:
    return " or ".join(str(shape)[:60] for shape in shapes[:3])


RULE = Rule(
    code="DAT002",
    name="signature-mismatch",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
