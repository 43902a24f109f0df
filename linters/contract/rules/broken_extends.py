"""A contract extends a file that is missing, that is no contract of the project, or that extends it in turn.

## What it does
Follows `extends`, each path relative to the file that names it, and reports missing files and circles. Outside of the
folder that the command works in only a `*.contract.yaml` is opened.

## Why is this bad?
What the base promises is lost, and every rule that needs it is silent.

## Example
```yaml
extends: [../bse.contract.yaml]
```

## Use instead
```yaml
extends: [../base.contract.yaml]
```

## References
- https://docs.astral.sh/ruff/settings/#extend
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import BROKEN_EXTENDS
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    return [finding for finding in loaded.findings if finding.code == BROKEN_EXTENDS.code]


RULE = Rule(
    code=BROKEN_EXTENDS.code,
    name=BROKEN_EXTENDS.name,
    severity=BROKEN_EXTENDS.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
