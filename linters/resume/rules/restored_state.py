"""What was restored is not what was saved.

## What it does
With `checkpoint resume`, compares every array right behind a restore with what it was when it was saved, to the bit: on
the same mesh, and on others that the same devices can make.

## Why is this bad?
Saving and restoring computes nothing. An array that comes back otherwise was cast, cut, padded, or put together from
the wrong shards.

## Example
```python
save(jax.tree.map(lambda x: x.astype("bfloat16"), state))
```

## Use instead
```python
save(state)
```

## References
- https://github.com/NVIDIA/Megatron-LM/pull/5077
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.resume import LegSeen
from ...rule import Rule
from ..evidence import ResumeEvidence, first_leaf, words


def check(evidence: ResumeEvidence) -> Iterable[Finding]:
    for index, which, leg, state in evidence.restores():
        found = list(_differs(evidence, leg, state, f"behind {which}", {"leg": index}))
        if found:
            yield from found
            break
    for index, last, leg, saved in evidence.on_meshes():
        when = f"restored from {words(last.mesh)} onto {words(leg.mesh)}"
        yield from _differs(evidence, leg, saved, when, {"mesh": index})


def _differs(
    evidence: ResumeEvidence, leg: LegSeen, saved: dict[str, str], when: str, details: dict[str, int]
) -> Iterable[Finding]:
    leaf = first_leaf(saved, leg.state)
    if leaf is None:
        return
    path, count = leaf
    how = "is not what it was" if path in leg.state else "is gone"
    yield evidence.finding(
        RULE,
        f"{when}, {path} of step {leg.restored:,} {how} ({count:,} of {len(saved):,} arrays)",
        subject=when,
        expected=saved[path],
        found=leg.state.get(path, "no such array"),
        help="save every array as it is, and restore it with its own shape and dtype",
        details=details,
    )


RULE = Rule(
    code="CKP706",
    name="restored-state",
    severity="error",
    evidence="resume",
    doc=__doc__ or "",
    check=check,
)
