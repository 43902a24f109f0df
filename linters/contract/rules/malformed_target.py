"""A target's name cannot be parsed.

## What it does
Parses every entry of `targets`: a platform, for accelerators a known kind of device, and the sizes.

## Why is this bad?
A target that does not exist is never compiled for.

## Example
```yaml
targets: [cpu-8]
```

## Use instead
```yaml
targets: [cpu:8]
```

## References
- https://docs.jax.dev/en/latest/aot.html
- https://cloud.google.com/tpu/docs/v5e
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.target_name import EXAMPLES, parse_target
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for key, name in view.targets:
        try:
            parse_target(name)
        except ValueError as error:
            yield view.finding(RULE, key, f"`{name}` is not a target: {error}", expected=EXAMPLES, found=name)


RULE = Rule(
    code="JIT009",
    name="malformed-target",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
