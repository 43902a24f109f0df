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
from ...cut import in_a_line
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
    judged = {
        argument: shapes
        for argument, shapes in view.mapping("step", name, "signatures").items()
        if isinstance(shapes, list) and shapes and all(isinstance(s, list) and len(s) >= 2 for s in shapes)
    }
    wrong = {a: shapes for a, shapes in judged.items() if not any(s[: len(promised)] == promised for s in shapes)}
    agreed = _agreed(list(judged.values()), promised) if len(wrong) == len(judged) > 1 else None
    if agreed is not None:
        dimension, found = agreed
        yield view.finding(
            RULE,
            (("batch", "size"), ("model", "sequence"))[dimension],
            f"every declared input has {found} in dimension {dimension}, promised {promised[dimension]}",
            expected=str(promised[dimension]),
            found=str(found),
            evidence=tuple(f"`{argument}` is fed {_shapes(shapes)}" for argument, shapes in wrong.items()),
        )
        return
    for argument, shapes in wrong.items():
        yield view.finding(
            RULE,
            ("step", name, "signatures", argument),
            f"`{argument}` is fed {_shapes(shapes)}, the promised batch is {_shapes([promised])}",
            expected=_shapes([promised]),
            found=_shapes(shapes),
        )


def _agreed(inputs: list[list[list[Any]]], promised: list[int | None]) -> tuple[int, Any] | None:
    """The one dimension in which several inputs, fed one shape each, all have the same other size than promised: then
    it is the promise that stands alone."""
    shapes = [shapes[0][: len(promised)] for shapes in inputs if len(shapes) == 1]
    if len(shapes) < len(inputs) or any(shape != shapes[0] for shape in shapes):
        return None
    off = [dimension for dimension, size in enumerate(promised) if shapes[0][dimension] != size]
    return (off[0], shapes[0][off[0]]) if len(off) == 1 else None


def _shapes(shapes: list[Any]) -> str:
    return in_a_line((str(shape)[:60] for shape in shapes), 3, " or ")


RULE = Rule(
    code="DAT002",
    name="signature-mismatch",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
