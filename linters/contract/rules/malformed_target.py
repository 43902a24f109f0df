"""A target's name cannot be parsed, or names a TPU slice that there is not.

## What it does
Parses every entry of `targets`: a platform, for accelerators a known kind of device, and the sizes. Those of a TPU are
looked up among the slices that Google publishes; the compiler also knows shapes that nobody can have.

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
from ....contracts.hardware import no_such_slice
from ....contracts.load import LoadedContract
from ....contracts.target_name import EXAMPLES, parse_target
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for key, name in view.targets:
        try:
            parsed = parse_target(name)
        except ValueError as error:
            yield view.finding(RULE, key, f"`{name}` is not a target: {error}", expected=EXAMPLES, found=name)
            continue
        reason = no_such_slice(parsed.kind.name, parsed.sizes) if parsed.platform == "tpu" else None
        if reason is not None:
            yield view.finding(
                RULE, key, f"`{name}` is no slice that there is: {reason}", expected="a slice that there is", found=name
            )


RULE = Rule(
    code="JIT009",
    name="malformed-target",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
