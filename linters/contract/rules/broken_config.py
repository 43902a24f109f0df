"""A configuration file that values are bound to cannot be read.

## What it does
Opens every file of `config`, relative to the contract that names it.

## Why is this bad?
The point of a binding is that contract and training run share one number; without the file there is none.

## Example
```yaml
config: { base: ../configs/bse.yml }
```

## Use instead
```yaml
config: { base: ../configs/base.yml }
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/1637
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import BROKEN_CONFIG
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    return [finding for finding in loaded.findings if finding.code == BROKEN_CONFIG.code]


RULE = Rule(
    code=BROKEN_CONFIG.code,
    name=BROKEN_CONFIG.name,
    severity=BROKEN_CONFIG.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
