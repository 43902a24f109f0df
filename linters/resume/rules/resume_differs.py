"""A run that was stopped and taken up again gives other numbers than one that was not.

## What it does
With `checkpoint resume`, compares loss, gradient norm, all other numbers that the step returns and every array of the
state, step by step and to the bit, behind each resume with the run that never stopped.

## Why is this bad?
The run that resumes is another run: its loss jumps, or drifts off, and no result of it can be repeated. The first
resume often is right and the second is not, since a state that was restored is not always one that can be saved.

## Example
```python
def restore(self):
    self.params = load("params.npz")   # moments begin at 0
```

## Use instead
```python
def restore(self):
    self.params, self.opt_state = load("params.npz"), load("opt_state.npz")
```

## References
- https://github.com/NVIDIA/Megatron-LM/issues/1842
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.resume import BATCH, DIGEST, RATE, RNG
from ...cut import shown
from ...rule import Rule
from ..evidence import ResumeEvidence, first_leaf


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    names = [name for name in evidence.names if name not in (BATCH, RNG, RATE)]
    different = evidence.first_difference(*names) if names else None
    if different is not None:
        before, seen, name = different.before, different.seen, different.name
        found = seen.values.get(name)
        if found is None:
            said = f"gives no {name}, and {before.values[name]} in the run that never stopped"
        elif found.startswith(DIGEST):
            said = f"gives another value of {name} than the run that never stopped"
        else:
            said = f"gives the {name} {found}, and {before.values[name]} in the run that never stopped"
        yield evidence.finding(
            RULE,
            f"behind {different.which}, step {seen.step:,} {said}",
            subject=name,
            expected=before.values[name],
            found=found or "nothing",
            evidence=shown(
                f"{each}: {seen.values.get(each, 'nothing')}, not {before.values.get(each)}"
                for each in names
                if before.values.get(each) != seen.values.get(each)
            ),
            help="compare what is saved with what the step reads: `contract-lint checkpoint check` lists it",
            details={"leg": different.leg},
        )
        return
    for index, which, leg in evidence.resumed():
        for seen in leg.seen:
            before = evidence.unbroken(seen.step)
            leaf = first_leaf(before.state, seen.state) if before is not None else None
            if before is not None and leaf is not None:
                yield evidence.finding(
                    RULE,
                    f"behind {which}, {leaf[0]} of the state after step {seen.step:,} is not that of the run that "
                    f"never stopped ({leaf[1]:,} of {len(before.state):,} arrays)",
                    subject="state",
                    expected="equal to the bit",
                    found=leaf[0],
                    help="compare what is saved with what the step reads: `contract-lint checkpoint check` lists it",
                    details={"leg": index},
                )
                return


RULE = Rule(
    code="CKP701",
    name="resume-differs",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
