"""Parameters are saved that the model does not have.

## What it does
Compares the parameters that are saved with those of the section `model`. Says nothing with `level: contains`, and
nothing of what lies outside the parameters. Arrays that are stored and that no tree names are a warning where they
look like leaves that it has lost: they are in its database, or are called as leaves that it names, or as a slot of one
would be; others are told as information. So are tensors of a shard that its index does not name (a warning).

## Why is this bad?
They are of another model, or of an older one: what is restored by name is then only a part of it.

## Example
```yaml
model: { kind: listed, parameters: { embed: [512, 64] } }
checkpoint: { parameters: params }   # saved: params/embed, params/head
```

## Use instead
```yaml
model: { kind: listed, parameters: { embed: [512, 64], head: [64, 512] } }
checkpoint: { parameters: params }
```

## References
- https://github.com/apple/axlearn/blob/main/axlearn/common/checkpointer.py
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.suggest import nearest
from ...cut import shown
from ...rule import Rule
from ..evidence import CheckpointEvidence, counted


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    extra = [path for path in evidence.parameters if path not in evidence.promised]
    if evidence.promised and extra and evidence.section.level != "contains":
        near = nearest(extra[0], [path for path in evidence.promised if path not in evidence.parameters])
        yield evidence.finding(
            RULE,
            f"{counted(len(extra), 'parameter')} {'is' if len(extra) == 1 else 'are'} saved that the model does not "
            f"have (first: {extra[0]})",
            subject="parameters",
            key="model",
            expected=f"{len(evidence.promised):,} parameters",
            found=f"{len(evidence.parameters):,}",
            evidence=shown(extra) if len(extra) > 1 else (),
            help=f"is it {near}?"
            if near
            else "add it to the model, or allow more with checkpoint: { level: contains }",
            details={"leaves": extra},
        )
    for item in evidence.checkpoint.items:
        for each in item.unlisted:
            count, first = len(each.names), each.names[0]
            them = "it" if count == 1 else "them"
            yield evidence.finding(
                RULE,
                f"{counted(count, 'array')} of {item.name or 'the step'} {'is' if count == 1 else 'are'} stored, and "
                f"{each.by} does not name {them} (first: {first})",
                subject=f"unlisted {item.name} {'lost' if each.lost else ''}".rstrip(),
                severity="warning" if each.lost else "info",
                file=item.name,
                evidence=shown(each.names) if count > 1 else (),
                help=f"a restore leaves {them} out: were {them} lost from {each.by}? Bring that back, or accept this"
                if each.lost
                else "it takes up space and is never restored",
            )


RULE = Rule(
    code="CKP604",
    name="leaf-unexpected",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
