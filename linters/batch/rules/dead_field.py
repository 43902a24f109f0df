"""The step takes a field of the batch and nothing that it returns depends on it.

## What it does
With `batch check --probe`: drops from the traced step whatever no output needs, and looks which arrays of the batch are
still read.

## Why is this bad?
A step that takes segment ids and does not use them trains across documents; with a dead loss mask it trains on padding.
The loader's work is right, and lost.

## Example
```python
def step(state, batch):
    logits = model(state.params, batch["tokens"])  # batch["segment_ids"] goes nowhere
```

## Use instead
```python
def step(state, batch):
    logits = model(state.params, batch["tokens"], batch["segment_ids"], batch["positions"])
```

## References
- https://github.com/NVIDIA/Megatron-LM/issues/415
- https://github.com/allenai/open-instruct/pull/669
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    probe = evidence.probe
    if probe is None:
        return
    roles = {name: role for role, name in evidence.batch.roles.items()}
    for name in probe.dead:
        role = roles.get(name)
        as_role = f" as the {role.replace('_', ' ')}" if role is not None and role != name else ""
        yield evidence.finding(
            RULE,
            f"the step {probe.step} takes {name}{as_role}, and nothing it returns depends on it",
            subject=name,
            key=f"{evidence.data.fields_key}.{name}" if name in evidence.data.batch_fields else None,
            severity="warning" if role in (None, "attention_mask") else "error",
            expected="read by the loss",
            found="dead",
            evidence=(f"read are {', '.join(each for each in probe.fields if each not in probe.dead) or 'none'}",),
            help=_HELP.get(role or "", "give it to the model, or take it out of the batch"),
            details={"role": role},
        )


_HELP = {
    "segment_ids": "give it to the attention's mask, so that documents do not see each other",
    "positions": "give it to the position embedding, so that positions begin anew in every document",
    "loss_mask": "multiply the losses by it, and divide by its sum",
    "loss_weights": "multiply the losses by it, and divide by its sum",
}


RULE = Rule(
    code="DAT623",
    name="dead-field",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
