"""A target's name cannot be parsed, or names a machine that there is not.

## What it does
Parses every entry of `targets`: a platform, for accelerators a known kind of device, and the sizes. Those of a TPU are
looked up among the slices that Google publishes, those of GPUs are held to the cards that a host has; the compilers
also take machines that nobody can have. The other targets are compiled for all the same.

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
from ....contracts.target_name import EXAMPLES, no_such_machine, parse_target
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
        reason = no_such_machine(parsed)
        if reason is not None:
            what = "slice" if parsed.platform == "tpu" else "machine"
            yield view.finding(
                RULE,
                key,
                f"`{name}` is no {what} that there is: {reason}",
                expected=f"a {what} that there is",
                found=name,
            )


RULE = Rule(
    code="JIT009",
    name="malformed-target",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
