"""A deviation accepts nothing.

## What it does
Reports deviations that match no finding, once their rule was asked about every step on every target of the contract:
rules on the executed loop with `--run`, rules on a program where the step was compiled.

## Why is this bad?
What it was written for is mended; left in place, it would accept the fault when it comes back.

## Example
```yaml
deviations:
  - { rule: SHD204, match: { axes: [fsdp] }, reason: embedding gathered once }
```

## Use instead
```yaml
deviations: []
```

## References
- https://docs.astral.sh/ruff/rules/unused-noqa/
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..deviations import Verdict, matches


def check(verdict: Verdict) -> Iterable[Finding]:
    for index, deviation in enumerate(verdict.deviations):
        if deviation.rule not in verdict.judged or any(matches(deviation, finding) for finding in verdict.findings):
            continue
        key = f"deviations[{index}]"
        yield RULE.finding(
            f"the deviation for {deviation.rule} accepts nothing",
            subject=f"{deviation.rule}:{sorted(deviation.match.items())}",
            location=verdict.loaded.place(key),
            key=key,
            expected="a finding to accept",
            found="none",
            help="delete the entry",
        )


RULE = Rule(
    code="JIT401", name="unused-deviation", severity="error", evidence="verdict", doc=__doc__ or "", check=check
)
