"""The memory budget is larger than the memory of a device of a target.

## What it does
Compares `memory.hbm` with the table of devices. A budget of the published size is accepted, though a program may get
less of it (libtpu keeps a part for itself: 15.75 GiB are left of the 16 of a v5e): `verify` holds it to what it gets.

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
memory: { hbm: 16GiB }
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
        if kind.hbm_bytes is None or kind.program_bytes is None:
            continue
        most = max(kind.hbm_bytes, kind.program_bytes)
        if budget > most:
            yield view.finding(
                RULE,
                ("memory", "hbm"),
                f"a device of `{name}` has {format_bytes(most)}, the budget is {format_bytes(budget)}",
                expected=f"at most {format_bytes(most)}",
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
