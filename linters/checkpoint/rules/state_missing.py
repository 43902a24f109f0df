"""Something that a resume needs is not in the checkpoint.

## What it does
Looks for each entry of `checkpoint.state`: a leaf, a tree, an item or a file of the step. The name of the item may be
left out. What holds the parameters too (`step: state`) is no answer.

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

from collections.abc import Collection, Iterable

from ....contracts.finding import Finding
from ....contracts.key import format_key
from ....contracts.suggest import nearest
from ...cut import SHOWN, in_a_line
from ...rule import Rule
from ..evidence import CheckpointEvidence
from ..root import VALUE


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    items = {item.name for item in evidence.checkpoint.items if item.name}
    tops = sorted({path.partition("/")[0] for path in evidence.checkpoint.leaves} | items)
    for name, path in evidence.section.state.items():
        if evidence.holds(path):
            continue
        above = evidence.checkpoint.has(path)
        near = _near(evidence, items, name if above else path)
        yield evidence.finding(
            RULE,
            f"{path} holds the parameters too, which says nothing of {name}"
            if above
            else f"{name} is not in the checkpoint: nothing is saved at {path}",
            subject=name,
            key=format_key(("checkpoint", "state", name)),
            expected=f"where {name} lies alone" if above else path,
            found=path if above else in_a_line(tops, SHOWN) or "nothing",
            help=f"is it {near}?" if near else "save it, or take it out of the contract",
        )


def _near(evidence: CheckpointEvidence, items: Collection[str], path: str) -> str | None:
    """What is saved and is called much alike: an item, a leaf or what leaves lie below, but for parameters, entries of
    slots, and what holds the parameters."""
    entries = {path for slot in evidence.slots.values() for path in slot.paths.values()}
    known = {*items}
    for each in evidence.checkpoint.leaves:
        if each.removesuffix(VALUE) not in entries and not each.startswith(f"{evidence.root}/"):
            known |= {each[:at] for at, character in enumerate(f"{each}/") if character == "/"}
    by_end: dict[str, str] = {}
    for each in sorted(known, key=lambda each: (each.count("/"), each)):
        if not evidence.is_above(each):
            by_end.setdefault(each.rpartition("/")[2], each)
    end = nearest(path.rpartition("/")[2], by_end)
    return by_end[end] if end is not None else None


RULE = Rule(
    code="CKP608",
    name="state-missing",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
