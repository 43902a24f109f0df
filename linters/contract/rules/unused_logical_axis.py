"""A logical axis is mapped but no parameter has it.

## What it does
Compares the names in `parameters.logical_axes` with those that the model's conventions and `parameters.rules` use.

## Why is this bad?
A misspelled name maps nothing: the dimension it was meant for stays whole on every device.

## Example
```yaml
parameters: { logical_axes: { embd: fsdp } }
```

## Use instead
```yaml
parameters: { logical_axes: { embed: fsdp } }
```

## References
- https://flax.readthedocs.io/en/latest/guides/flax_gspmd.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.suggest import did_you_mean
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    used = {axis for parameter in view.parameters for axis in parameter.axes if axis is not None}
    used |= {axis for rule in view.rules for axis in rule.axes or () if axis is not None}
    usable = view.complete and used and all(rule.axes is not None for rule in view.rules)
    for name in view.mapping("parameters", "logical_axes") if usable else ():
        if name not in used:
            yield view.finding(
                RULE,
                ("parameters", "logical_axes", name),
                f"no parameter has the logical axis `{name}`",
                expected=", ".join(sorted(used)),
                found=name,
                help=did_you_mean(name, used),
            )


RULE = Rule(
    code="SHD008",
    name="unused-logical-axis",
    severity="warning",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
