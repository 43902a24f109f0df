"""A value has the wrong type, unit or range.

## What it does
Checks every value against its type: counts are whole numbers, sizes carry a known unit, choices are among those
listed.

## Why is this bad?
A value that is quietly converted (`16Gb`, `"16"`, `true`) holds the program to something nobody meant.

## Example
```yaml
memory: { hbm: 16Gb }
```

## Use instead
```yaml
memory: { hbm: 16GiB }
```

## References
- https://docs.pydantic.dev/latest/concepts/strict_mode/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import INVALID_VALUE
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    return [finding for finding in loaded.findings if finding.code == INVALID_VALUE.code]


RULE = Rule(
    code=INVALID_VALUE.code,
    name=INVALID_VALUE.name,
    severity=INVALID_VALUE.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
