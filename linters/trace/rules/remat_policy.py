"""The step rematerialises otherwise than promised.

## What it does
Looks for `jax.checkpoint` inside the layer loop where `model.remat` is `full`, and for any where it is `none`. A
checkpoint with a policy that saves some values is `policy`.

## Why is this bad?
Without the checkpoint every layer's activations stay alive until the backward pass; with one that nobody planned,
every layer is computed - and its parameters gathered - twice.

## Example
```yaml
# the layer is scanned without jax.checkpoint
model: { kind: dense, remat: full }
```

## Use instead
```python
x, _ = jax.lax.scan(jax.checkpoint(layer), x, layers)
```

## References
- https://docs.jax.dev/en/latest/gradient-checkpointing.html
- https://arxiv.org/abs/1604.06174
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.manifest import JaxprFacts
from ...cut import shown
from ...evidence import StepEvidence, frame_location
from ...rule import Rule

KEY = "model.remat"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    model, jaxpr = evidence.contract.model, evidence.facts.jaxpr
    if model is None or jaxpr is None:
        return
    found = remat_of(jaxpr)
    if found == model.remat:
        return
    yield RULE.finding(
        f"the step's rematerialisation is {found}, promised {model.remat}",
        subject="remat",
        location=evidence.place(KEY),
        key=KEY,
        expected=model.remat,
        found=found,
        evidence=shown((str(frame_location(remat.frames)) for remat in jaxpr.remats if remat.frames), most=5),
        help="wrap the layer in jax.checkpoint (or take it away), or correct the contract",
    )


def remat_of(jaxpr: JaxprFacts) -> str:
    """`none`, `full` where every checkpoint saves nothing but its inputs, `policy` where one saves more."""
    saving = [remat for remat in jaxpr.remats if remat.policy not in (None, "nothing_saveable")]
    return "policy" if saving else "full" if jaxpr.remats else "none"


RULE = Rule(code="MEM205", name="remat-policy", severity="error", evidence="trace", doc=__doc__ or "", check=check)
