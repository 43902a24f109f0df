"""Fewer executables are promised than the signatures need.

## What it does
Counts the different input shapes a step declares and compares with `compiles`.

## Why is this bad?
`jax.jit` compiles once for every set of shapes, so the promise cannot be kept by any program.

## Example
```yaml
step:
  train: { entry: my_pkg.train:build,
           signatures: { tokens: [[16, 128], [16, 64]] }, compiles: 1 }
```

## Use instead
```yaml
step:
  train: { entry: my_pkg.train:build,
           signatures: { tokens: [[16, 128], [16, 64]] }, compiles: 2 }
```

## References
- https://docs.jax.dev/en/latest/jit-compilation.html#jit-and-caching
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for name in view.mapping("step"):
        promised = view.integer("step", name, "compiles")
        shapes = view.mapping("step", name, "signatures")
        needed = max(
            (len({str(shape) for shape in listed}) for listed in shapes.values() if isinstance(listed, list)), default=0
        )
        if promised is not None and promised < needed:
            yield view.finding(
                RULE,
                ("step", name, "compiles"),
                f"{needed} different shapes need {needed} executables, {promised} promised",
                expected=f"at least {needed}",
                found=str(promised),
            )


RULE = Rule(
    code="JIT012",
    name="compiles-below-signatures",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
