"""A target is listed twice.

## What it does
Compares the names in `targets`.

## Why is this bad?
The second entry, with its own mesh, is never used: a target has one mesh.

## Example
```yaml
targets: [cpu:8, cpu:8]
```

## Use instead
```yaml
targets: [cpu:8]
```

## References
- https://docs.jax.dev/en/latest/aot.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    seen: set[str] = set()
    for key, name in view.targets:
        if name in seen:
            yield view.finding(RULE, key, f"target `{name}` is listed twice", found=name, help="keep one of the two")
        seen.add(name)


RULE = Rule(
    code="JIT016",
    name="repeated-target",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
