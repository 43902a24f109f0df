"""An argument is promised to be donated and static at once.

## What it does
Compares `donate` with `static` in every step.

## Why is this bad?
A static argument is a Python value baked into the program; it has no buffer that could be given away.

## Example
```yaml
step:
  train: { entry: my_pkg.train:build, donate: [state], static: [state] }
```

## Use instead
```yaml
step:
  train: { entry: my_pkg.train:build, donate: [state], static: [] }
```

## References
- https://docs.jax.dev/en/latest/buffer_donation.html
- https://github.com/jax-ml/jax/issues/9675
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
        donated = {argument for _, argument in view.items("step", name, "donate") if isinstance(argument, str)}
        for key, argument in view.items("step", name, "static"):
            if isinstance(argument, str) and argument in donated:
                yield view.finding(
                    RULE,
                    key,
                    f"`{argument}` of step `{name}` is static and donated",
                    found=argument,
                    help="keep one of the two",
                )


RULE = Rule(
    code="JIT011",
    name="donated-and-static",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
