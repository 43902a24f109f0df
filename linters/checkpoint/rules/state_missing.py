"""Something that a resume needs is not in the checkpoint.

## What it does
Looks for each entry of `checkpoint.state`: a leaf, a tree, an item or a file of the step. The name of the item may be
left out.

## Why is this bad?
Without its step the schedule starts again, without the random key dropout repeats, without the data cursor the run
reads the same documents twice: a warm start that looks like a resume.

## Example
```yaml
checkpoint: { state: { step: step, data cursor: data } }   # saved: params, step
```

## Use instead
```yaml
checkpoint: { state: { step: step } }
```

## References
- https://github.com/AI-Hypercomputer/maxtext/issues/276
- https://github.com/pytorch/torchtitan/issues/3907
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ....contracts.suggest import nearest
from ...cut import SHOWN, in_a_line
from ...rule import Rule
from ..evidence import CheckpointEvidence


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    for name, path in evidence.section.state.items():
        if evidence.checkpoint.has(path):
            continue
        tops = sorted(
            {each.partition("/")[0] for each in evidence.checkpoint.leaves}
            | {item.name for item in evidence.checkpoint.items if item.name}
        )
        near = nearest(path, [*evidence.checkpoint.leaves, *tops])
        yield evidence.finding(
            RULE,
            f"{name} is not in the checkpoint: nothing is saved at {path}",
            subject=name,
            key=format_key(("checkpoint", "state", name)),
            expected=path,
            found=in_a_line(tops, SHOWN) or "nothing",
            help=f"is it {near}?" if near else "save it, or take it out of the contract",
        )


RULE = Rule(
    code="CKP608",
    name="state-missing",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
