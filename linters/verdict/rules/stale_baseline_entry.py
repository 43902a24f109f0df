"""An entry of the baseline is like no finding any more.

## What it does
Reports each line of the file named by `--baseline` whose finding is gone, where its file was checked and its rule ran.

## Why is this bad?
The fault was mended. Left in place, the entry would hide the same fault the day that it comes back; a baseline is there
to shrink.

## Example
```json
{"path": "train.py", "code": "JIT103", "subject": "if loss > 0:", "fingerprint": "51f2c0b1"}
```

## Use instead
`contract-lint check --baseline FILE --update-baseline` writes the file anew from what there is.

## References
- https://github.com/realm/SwiftLint/pull/5475
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.problems import STALE_BASELINE
from ...rule import Rule
from ..deviations import Verdict


def check(verdict: Verdict) -> Iterable[Finding]:
    """Nothing: `linters.verdict.baseline`, which reads the file, makes the finding as it marks the others."""
    return ()


RULE = Rule(
    code=STALE_BASELINE.code,
    name=STALE_BASELINE.name,
    severity=STALE_BASELINE.severity,
    evidence="verdict",
    doc=__doc__ or "",
    check=check,
)
