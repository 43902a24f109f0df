"""The contract cannot be read.

## What it does
Reports text that is not YAML, not UTF-8, empty, too large, nested too deeply, tagged, or that aliases blow up.

## Why is this bad?
A contract nobody can read promises nothing, and a file from a pull request must not be able to hang or run the
reviewer.

## Example
```yaml
mesh: { axes: { data: 2, fsdp: 4 }      # the second brace is missing
```

## Use instead
```yaml
mesh: { axes: { data: 2, fsdp: 4 } }
```

## References
- https://yaml.org/spec/1.2.2/
- https://en.wikipedia.org/wiki/Billion_laughs_attack
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import UNREADABLE
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    return [finding for finding in loaded.findings if finding.code == UNREADABLE.code]


RULE = Rule(
    code=UNREADABLE.code,
    name=UNREADABLE.name,
    severity=UNREADABLE.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
