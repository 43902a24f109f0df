"""The shares of the sources do not add up to one.

## What it does
Adds up `data.mixture` where it reads as shares: every number at most 1, and one of them no whole number. A rounding of
half a unit in the last of two decimals is let pass. Whole numbers are relative weights, of which any do.

## Why is this bad?
A loader divides by their sum and says nothing. The numbers in the contract are then not the shares that are read, and a
source that was forgotten is not missed. It is a warning, since a loader may well take any positive numbers.

## Example
```yaml
data: { mixture: { web: 0.7, code: 0.7 } }
```

## Use instead
```yaml
data: { mixture: { web: 0.5, code: 0.5 } }
```

## References
- https://google-grain.readthedocs.io/en/latest/
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ...rule import Rule
from ..view import View, is_number


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    values = list(view.mapping("data", "mixture").values())
    if not all(map(is_number, values)):
        return
    shares = all(0 < value <= 1 for value in values) and any(value != int(value) for value in values)
    total = math.fsum(values) if shares else 1.0
    if abs(total - 1) > ROUNDED * len(values):
        yield view.finding(
            RULE,
            ("data", "mixture"),
            f"the shares of {len(values)} source{'s' * (len(values) != 1)} add up to {total:.4g}",
            expected="1",
            found=f"{total:.6g}",
            help="write shares that add up to 1, or whole numbers where they are relative weights",
        )


ROUNDED = 0.005
"""How far one share may be rounded."""


RULE = Rule(
    code="DAT017",
    name="mixture-shares",
    severity="warning",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
