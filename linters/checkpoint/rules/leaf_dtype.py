"""A saved array has another dtype than promised.

## What it does
Compares parameters with `dtypes.master`, optimizer slots with `dtypes.moments`, and `checkpoint.leaves` with what they
say. Says nothing with `level: up-to-dtype`.

## Why is this bad?
A restore casts without a word. Master weights that went through bfloat16 have lost 16 bits of each number, and the run
that resumes is not the one that was stopped.

## Example
```yaml
dtypes: { master: float32 }   # saved: params in bfloat16
checkpoint: {}
```

## Use instead
```yaml
dtypes: { master: bfloat16 }
checkpoint: {}
```

## References
- https://github.com/apple/axlearn/blob/main/axlearn/common/checkpointer.py
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence
from ..facts import Leaf


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    if evidence.section.level == "up-to-dtype":
        return
    wrong: dict[tuple[str, str, str], list[str]] = {}
    for path, key, promised, leaf in _dtypes(evidence):
        if leaf.dtype is not None and leaf.dtype != promised:
            wrong.setdefault((key, promised, leaf.dtype), []).append(path)
    for (key, promised, found), paths in wrong.items():
        more = f"; so {'is' if len(paths) == 2 else 'are'} {len(paths) - 1:,} more" if len(paths) > 1 else ""
        yield evidence.finding(
            RULE,
            f"{paths[0]} is {found}, promised is {promised}{more}",
            subject=f"{key} {found}",
            key=key,
            expected=promised,
            found=found,
            evidence=shown(paths) if more else (),
            help="save it as promised, or allow it with checkpoint: { level: up-to-dtype }",
            details={"leaves": paths},
        )


def _dtypes(evidence: CheckpointEvidence) -> Iterable[tuple[str, str, str, Leaf]]:
    """Path, key of the promise, promised dtype and leaf of every array whose dtype is promised."""
    dtypes = evidence.contract.dtypes if evidence.contract is not None else None
    if dtypes is not None:
        start = f"{evidence.root}/" if evidence.root else ""
        for path, leaf in evidence.parameters.items():
            yield f"{start}{path}", "dtypes.master", dtypes.master, leaf
        for name in evidence.expected_slots:
            slot = evidence.slots.get(name)
            for path, leaf in slot.entries.items() if slot is not None else ():
                yield slot.paths[path] if slot is not None else path, "dtypes.moments", dtypes.moments, leaf
    for path, promise, leaf in evidence.promised_arrays():
        if promise.dtype is not None and promise.dtype_key != "dtypes.master":
            yield path, promise.dtype_key, promise.dtype, leaf


RULE = Rule(
    code="CKP606",
    name="leaf-dtype",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
