"""The memory budget is larger than the memory of a target's devices.

## What it does
Compares `memory.hbm` with the table of devices, for every target whose kind has a published size.

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
        if kind.hbm_bytes is not None and budget > kind.hbm_bytes:
            yield view.finding(
                RULE,
                ("memory", "hbm"),
                f"a device of `{name}` has {format_bytes(kind.hbm_bytes)}, the budget is {format_bytes(budget)}",
                expected=f"at most {format_bytes(kind.hbm_bytes)}",
                found=format_bytes(budget),
                evidence=(f"published at {kind.source}",),
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
