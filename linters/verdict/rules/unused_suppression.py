"""A suppression comment suppresses nothing.

## What it does
Reports every rule named in a `# contract-lint: ignore[...]` comment that has no finding on that line.

## Why is this bad?
The fault it was written for is mended; left in place, it would hide the next one.

## Example
```yaml
batch: { size: 16, axes: [data] }    # contract-lint: ignore[SHD005] tail batch is padded
```

## Use instead
```yaml
batch: { size: 16, axes: [data] }
```

## References
- https://docs.astral.sh/ruff/rules/unused-noqa/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.problems import UNUSED_SUPPRESSION
from ...rule import Rule
from ..deviations import Verdict


def check(verdict: Verdict) -> Iterable[Finding]:
    """Nothing: `linters.verdict.suppressions`, which reads the comments, makes the finding as it marks the others."""
    return ()


RULE = Rule(
    code=UNUSED_SUPPRESSION.code,
    name=UNUSED_SUPPRESSION.name,
    severity=UNUSED_SUPPRESSION.severity,
    evidence="verdict",
    doc=__doc__ or "",
    check=check,
)
