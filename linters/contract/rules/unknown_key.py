"""A key is not part of the contract's language.

## What it does
Compares every key with those its section may have and suggests the nearest one, or the section it belongs to.

## Why is this bad?
A misspelled key is a promise that is never checked: the run looks held to the contract and is not.

## Example
```yaml
batch: { size: 16, axis: [data] }
```

## Use instead
```yaml
batch: { size: 16, axes: [data] }
```

## References
- https://github.com/unslothai/unsloth/issues/10452
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import UNKNOWN_KEY
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    return [finding for finding in loaded.findings if finding.code == UNKNOWN_KEY.code]


RULE = Rule(
    code=UNKNOWN_KEY.code,
    name=UNKNOWN_KEY.name,
    severity=UNKNOWN_KEY.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
