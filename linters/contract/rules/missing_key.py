"""A required key is absent.

## What it does
Reports each key that its section cannot do without.

## Why is this bad?
Half a promise cannot be compared with a program; the tool would have to guess the rest.

## Example
```yaml
step:
  train: { args: { preset: tiny } }
```

## Use instead
```yaml
step:
  train: { entry: my_pkg.train:build, args: { preset: tiny } }
```

## References
- https://docs.pydantic.dev/latest/errors/validation_errors/#missing
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import MISSING_KEY
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    return [finding for finding in loaded.findings if finding.code == MISSING_KEY.code]


RULE = Rule(
    code=MISSING_KEY.code,
    name=MISSING_KEY.name,
    severity=MISSING_KEY.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
