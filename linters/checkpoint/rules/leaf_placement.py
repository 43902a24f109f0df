"""Arrays were saved in another placement than promised.

## What it does
Compares the mesh axes that Orbax notes beside each array (`_sharding`) with those that `parameters` and
`optimizer.placement` give parameters and slots, and with the `axes` of `checkpoint.leaves`, on the mesh that they were
saved on. A mesh that is none of the contract's is one warning: it can be restored onto another.

## Why is this bad?
A parameter that was whole on every device when it was saved is whole on every device after a restore that takes the
placement from the checkpoint; and the run that saved it was not the one that the contract describes.

## Example
```yaml
mesh: { axes: { data: 2, fsdp: 4 } }
parameters: { rules: [{ match: embed, axes: [fsdp, null] }] }
checkpoint: {}   # saved: params/embed as P()
```

## Use instead
```yaml
mesh: { axes: { data: 2, fsdp: 4 } }
parameters: { rules: [{ match: embed, axes: [null, null] }] }
checkpoint: {}
```

## References
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/checkpoint_format.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import in_a_line, shown
from ...program.wording import spec_text
from ...resume.evidence import words
from ...rule import Rule
from ..evidence import CheckpointEvidence
from ..placements import PromisedPlacement, other_mesh, promised_placements

_SHOWN = 3


def check(evidence: CheckpointEvidence) -> Iterable[Finding]:
    promised = promised_placements(evidence)
    by_key: dict[str, list[PromisedPlacement]] = {}
    for each in promised:
        if not each.kept:
            by_key.setdefault(each.key, []).append(each)
    for key, wrong in by_key.items():
        first = wrong[0]
        more = f"; so {'is' if len(wrong) == 2 else 'are'} {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        lines = [f"{each.path}: {spec_text(each.found)}, promised {spec_text(each.allowed[0])}" for each in wrong]
        yield evidence.finding(
            RULE,
            f"{first.path} was saved as {spec_text(first.found)}, promised is {spec_text(first.allowed[0])}{more}",
            subject=key,
            key=key,
            expected=spec_text(first.allowed[0]),
            found=spec_text(first.found),
            evidence=shown(lines) if more else (),
            help="restore it with the placements that the contract names, or promise those that are meant",
            details={"leaves": [each.path for each in wrong]},
        )
    other = other_mesh(evidence)
    if other is not None:
        saved, meshes = other
        told = in_a_line([words(each) for each in meshes], _SHOWN)
        yield evidence.finding(
            RULE,
            f"it was saved on {words(saved) if saved else 'one device'}, promised is {told}",
            subject="mesh",
            key="mesh.axes",
            severity="warning",
            expected=told,
            found=words(saved) if saved else "one device",
            help="give the restore the placements on the mesh that it runs on: those in the checkpoint are of another",
        )


RULE = Rule(
    code="CKP617",
    name="leaf-placement",
    severity="error",
    evidence="checkpoint",
    doc=__doc__ or "",
    check=check,
)
