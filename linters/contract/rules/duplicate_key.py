"""A key is given twice in one mapping.

## What it does
Reports the second of two equal keys, with the line of the first.

## Why is this bad?
YAML readers differ in which of the two they take; one of the promises is silently dropped.

## Example
```yaml
batch: { size: 16, axes: [data] }
memory: { hbm: 16GiB }
batch: { size: 32 }
```

## Use instead
```yaml
batch: { size: 32, axes: [data] }
memory: { hbm: 16GiB }
```

## References
- https://yaml.org/spec/1.2.2/#3213-node-comparison
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import DUPLICATE_KEY
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    return [finding for finding in loaded.findings if finding.code == DUPLICATE_KEY.code]


RULE = Rule(
    code=DUPLICATE_KEY.code,
    name=DUPLICATE_KEY.name,
    severity=DUPLICATE_KEY.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
