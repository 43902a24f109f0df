"""A suppression comment has no reason, no rule, or a rule that does not exist.

## What it does
Reads every `# contract-lint:` comment: `ignore`, one or more rules by code or name in brackets, then a reason.

## Why is this bad?
Whoever reads the comment later cannot tell whether it still holds. One that names no rule suppresses nothing. One that
gives no reason sets its findings aside, and is itself an error until it says why.

## Example
```yaml
mesh: { axes: { data: 8 } }
batch: { size: 12, axes: [data] }    # contract-lint: ignore[SHD005]
```

## Use instead
```yaml
mesh: { axes: { data: 8 } }
batch: { size: 12, axes: [data] }    # contract-lint: ignore[SHD005] tail batch is padded
```

## References
- https://docs.astral.sh/ruff/rules/invalid-rule-code/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.problems import INVALID_SUPPRESSION
from ...rule import Rule


def check(loaded: LoadedContract) -> Iterable[Finding]:
    """Nothing: comments are judged once all other findings are known, in `linters.verdict.suppressions`."""
    return ()


RULE = Rule(
    code=INVALID_SUPPRESSION.code,
    name=INVALID_SUPPRESSION.name,
    severity=INVALID_SUPPRESSION.severity,
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
