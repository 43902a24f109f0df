"""Parameters or optimizer slots have another dtype than promised.

## What it does
Compares the dtype of every floating-point parameter with `dtypes.master` and of every optimizer slot with
`dtypes.moments`.

## Why is this bad?
Master weights in bfloat16 lose every update smaller than 1/256 of the weight; moments in bfloat16 stop accumulating.
The loss still falls, for a while.

## Example
```python
params = jax.tree.map(lambda x: x.astype(jnp.bfloat16), params)
```

## Use instead
Keep the master copy in float32 and cast at use.

## References
- https://github.com/google-deepmind/optax/issues/1552
- https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.contract.dtypes
    if section is None:
        return
    promised = {"parameter": ("dtypes.master", section.master), "optimizer_slot": ("dtypes.moments", section.moments)}
    for class_, (key, expected) in promised.items():
        wrong = [t for t in evidence.tensors.rows if t.class_ == class_ and is_float(t.dtype) and t.dtype != expected]
        if not wrong:
            continue
        yield RULE.finding(
            f"{len(wrong)} {class_.replace('_', ' ')} arrays are {wrong[0].dtype}, promised {expected}",
            subject=class_,
            location=evidence.place(key),
            key=key,
            expected=expected,
            found=wrong[0].dtype,
            evidence=shown(f"{t.path}: {t.dtype}" for t in wrong),
            help="keep the promised dtype and cast at use, or correct the contract",
            details={"class": class_},
        )


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


RULE = Rule(code="NUM202", name="state-dtype", severity="error", evidence="program", doc=__doc__ or "", check=check)
