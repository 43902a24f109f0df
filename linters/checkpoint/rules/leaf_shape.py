"""A saved array has another shape than promised.

## What it does
Compares global shapes, from the metadata that stores the arrays, with the section `model` and `checkpoint.leaves`. The
`write_shape` that Orbax notes beside a leaf is the shape of one shard, and is not compared.

## Why is this bad?
A restore that is not strict pads or cuts the array to fit: a vocabulary that grew gets rows of zeros, without a word.

## Example
```yaml
model: { kind: listed, parameters: { embed: [512, 64] } }   # saved: params/embed [500, 64]
checkpoint: { parameters: params }
```

## Use instead
```yaml
model: { kind: listed, parameters: { embed: [500, 64] } }
checkpoint: { parameters: params }
```

## References
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    wrong = [
        (path, promise, leaf)
        for path, promise, leaf in evidence.promised_arrays()
        if promise.shape is not None and leaf.shape is not None and leaf.shape != promise.shape
    ]
    for key in dict.fromkeys(promise.shape_key for _, promise, _ in wrong):
        mine = [
            (path, promise.shape or (), leaf.shape or ()) for path, promise, leaf in wrong if promise.shape_key == key
        ]
        path, promised, found = mine[0]
        more = f"; so have {len(mine) - 1:,} more" if len(mine) > 1 else ""
        yield evidence.finding(
            RULE,
            f"{path} has the shape {list(found)}, promised is {list(promised)}{more}",
            subject=key,
            key=key,
            expected=str(list(promised)),
            found=str(list(found)),
            evidence=shown([f"{name}: {list(is_)}, promised {list(was)}" for name, was, is_ in mine]) if more else (),
            help="restore it into the model it was saved from, or say the shape that is meant",
            details={"leaves": {name: list(is_) for name, _, is_ in mine}},
        )


RULE = Rule(
    code="CKP605",
    name="leaf-shape",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
