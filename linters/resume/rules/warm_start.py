"""What is saved is no whole run: taken up, it is a WARM START.

## What it does
Lists what a resume needs and the saved step does not hold: what `checkpoint.state` names, and the optimizer slots of
every parameter. `checkpoint resume --strict` makes it an error.

## Why is this bad?
Weights alone begin a new run from a good place: moments are 0, the schedule starts again, and the data is read from the
start. That can be meant, but it is no resume.

## Example
```python
save({"params": state.params})
```

## Use instead
```python
save({"params": state.params, "opt_state": state.opt_state, "step": state.step, "rng": key})
```

## References
- https://github.com/AI-Hypercomputer/maxtext/pull/4341
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import SHOWN, in_a_line, shown
from ...rule import Rule
from ..evidence import ResumeEvidence


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    missing = evidence.facts.missing
    if missing:
        yield evidence.finding(
            RULE,
            f"WARM START: what is saved has no {in_a_line(missing, SHOWN, ', no ')}",
            subject="warm start",
            severity="error" if evidence.strict else "warning",
            expected="all that a resume needs",
            found=f"{len(missing):,} missing",
            evidence=shown(missing),
            help="save it too; or say in the contract that it is not needed, and what is meant is no resume",
            details={"missing": missing},
        )


RULE = Rule(
    code="CKP708",
    name="warm-start",
    severity="warning",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
