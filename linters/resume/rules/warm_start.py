"""What is saved or restored is no whole run: taken up, it is a WARM START.

## What it does
Lists what a resume needs and the saved step does not hold: what `checkpoint.state` names, and the optimizer slots of
every parameter; and what begins anew where a restore takes up the parameters alone: arrays that are, to the bit, as in
a run before its first step. What differs for that reason is a consequence. `checkpoint resume --strict` makes it an
error.

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
from ..anew import Kinds
from ..evidence import ResumeEvidence

NAMED = 6
"""Parts of the state that a line names."""
_SAVE = "save it too, or take it out of the contract's `checkpoint.state` or `optimizer` where a resume does without"
_RESTORE = "restore it too: it is saved; with --strict a warm start fails"


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    missing, warm = evidence.facts.missing, evidence.warm
    said = [f"what is saved has no {in_a_line(missing, SHOWN, ', no ')}"] if missing else []
    first = min(warm, default=None)
    anew = list(warm[first]) if first is not None else []
    if first is not None:
        which = next((which for index, which, _ in evidence.resumed() if index == first), "a restart")
        said.append(f"behind {which}, the parameters are those that were saved, but {_in_words(anew, evidence)} anew")
    if said:
        yield evidence.finding(
            RULE,
            f"WARM START: {'; '.join(said)}",
            subject="warm start",
            severity="error" if evidence.strict else "warning",
            expected="all that a resume needs",
            found=", ".join(f"{len(what):,} {word}" for what, word in ((missing, "missing"), (anew, "anew")) if what),
            evidence=shown([*missing, *(f"{path} begins anew" for path in anew)]),
            help=_SAVE if missing else _RESTORE,
            details={"missing": missing, "anew": anew},
        )


def _in_words(anew: list[str], evidence: ResumeEvidence) -> str:
    slots = Kinds(tuple(evidence.facts.unbroken.state)).slots.intersection(anew)
    rest = [path for path in anew if path not in slots]
    state = [f"the optimizer state ({len(slots):,} array{'s' * (len(slots) != 1)})"] if slots else []
    *words, last = shown([*state, *rest], NAMED)
    if not words:
        return f"{last} begins"
    return f"{', '.join(words)} {last if last.startswith('and ') else f'and {last}'} begin"


RULE = Rule(
    code="CKP708",
    name="warm-start",
    severity="warning",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
