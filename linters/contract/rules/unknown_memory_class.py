"""A memory limit is set for a class of buffers that does not exist.

## What it does
Compares the names in `memory.classes` with the classes of the memory ledger.

## Why is this bad?
No buffer ever has that class, so the limit is met by any program.

## Example
```yaml
memory: { classes: { optimiser_slots: 1.2GiB } }
```

## Use instead
```yaml
memory: { classes: { optimizer_slot: 1.2GiB } }
```

## References
- https://openxla.org/xla/oom_debugging
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.suggest import did_you_mean
from ....hlo_tools.buffer_class import BufferClass
from ...rule import Rule
from ..view import View

CLASSES: tuple[str, ...] = get_args(BufferClass)


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for name in view.mapping("memory", "classes"):
        if name not in CLASSES:
            yield view.finding(
                RULE,
                ("memory", "classes", name),
                f"there is no class of buffers `{name}`",
                expected=", ".join(CLASSES),
                found=name,
                help=did_you_mean(name, CLASSES),
            )


RULE = Rule(
    code="MEM001",
    name="unknown-memory-class",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
