"""A deviation accepts nothing.

## What it does
Reports deviations that matched no finding, once every target of the contract was judged.

## Why is this bad?
What it was written for is mended; left in place, it would accept the fault when it comes back.

## Example
```yaml
deviations:
  - { rule: SHD204, match: { axes: [fsdp] }, reason: embedding gathered once }
```

## Use instead
```yaml
deviations: []
```

## References
- https://docs.astral.sh/ruff/rules/unused-noqa/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    """Nothing: only a judged capture can tell. See `finding`."""
    return ()


def finding(loaded: LoadedContract, index: int) -> Finding:
    """The finding on `deviations[index]`, which matched nothing."""
    view = View(loaded)
    rule = view.text("deviations", index, "rule")
    return view.finding(
        RULE,
        ("deviations", index),
        f"the deviation from `{rule}` matches no finding",
        found=rule,
        help="remove it",
    )


RULE = Rule(
    code="JIT015",
    name="unused-deviation",
    severity="warning",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
