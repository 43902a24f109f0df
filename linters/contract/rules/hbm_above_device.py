"""The memory budget is larger than what a device of a target gives a program.

## What it does
Compares `memory.hbm` with the table of devices: what the target's compiler gives a program (libtpu keeps a part for
itself: 15.75 GiB are left of the 16 of a v5e), else the published memory.

## Why is this bad?
A program may keep the promise and still not fit the machine it is meant for.

## Example
```yaml
targets: ["tpu:v5e:4x4"]
memory: { hbm: 32GiB }
```

## Use instead
```yaml
targets: ["tpu:v5e:4x4"]
memory: { hbm: 15.75GiB }
```

## References
- https://cloud.google.com/tpu/docs/v5e
- https://openxla.org/xla/oom_debugging
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.model import format_bytes, parse_bytes
from ....contracts.target_name import parse_target
from ...capacity import capacity_text
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    try:
        budget = parse_bytes(view.get("memory", "hbm"))
    except ValueError:
        return
    for _, name in view.targets:
        try:
            kind = parse_target(name).kind
        except ValueError:
            continue
        given = kind.program_bytes
        if given is not None and budget > given:
            yield view.finding(
                RULE,
                ("memory", "hbm"),
                f"a device of `{name}` gives a program {format_bytes(given)}, the budget is {format_bytes(budget)}",
                expected=f"at most {format_bytes(given)}",
                found=format_bytes(budget),
                evidence=(capacity_text(kind),),
            )
            return


RULE = Rule(
    code="MEM003",
    name="hbm-above-device",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
