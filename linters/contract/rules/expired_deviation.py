"""An accepted deviation has run out.

## What it does
Compares `until` of every deviation with today; on that day it is still good.

## Why is this bad?
A deviation is a debt with a date. Past it the finding counts again, and the entry only hides that nobody looked.

## Example
```yaml
deviations:
  - { rule: SHD204, reason: embedding gathered once, until: 2024-03-01 }
```

## Use instead
```yaml
deviations: []            # mended; or a later date with a fresh reason
```

## References
- https://docs.astral.sh/ruff/rules/unused-noqa/
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for key, _ in view.items("deviations"):
        until = _day(view.text(*key, "until"))
        if until is not None and until < loaded.today:
            yield view.finding(
                RULE,
                (*key, "until"),
                f"the deviation from `{view.text(*key, 'rule')}` ended on {until}",
                expected=f"{loaded.today} or later",
                found=str(until),
                help="mend the finding, or give a later date with a reason",
            )


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text is not None else None
    except ValueError:
        return None


RULE = Rule(
    code="JIT013",
    name="expired-deviation",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
