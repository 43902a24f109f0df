"""One class of buffers may be larger than the whole memory.

## What it does
Compares every limit of `memory.classes` with `memory.hbm`.

## Why is this bad?
Such a limit can never be the one that is broken; more often a unit is wrong.

## Example
```yaml
memory: { hbm: 16GiB, classes: { optimizer_slot: 1200GiB } }
```

## Use instead
```yaml
memory: { hbm: 16GiB, classes: { optimizer_slot: 1.2GiB } }
```

## References
- https://openxla.org/xla/oom_debugging
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.model import format_bytes, parse_bytes
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    whole = _size(view.get("memory", "hbm"))
    for name in view.mapping("memory", "classes"):
        part = _size(view.get("memory", "classes", name))
        if whole is not None and part is not None and part > whole:
            yield view.finding(
                RULE,
                ("memory", "classes", name),
                f"`{name}` may take {format_bytes(part)} of {format_bytes(whole)}",
                expected=f"at most {format_bytes(whole)}",
                found=format_bytes(part),
            )


def _size(value: Any) -> int | None:
    try:
        return parse_bytes(value)
    except ValueError:
        return None


RULE = Rule(
    code="MEM002",
    name="class-above-hbm",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
