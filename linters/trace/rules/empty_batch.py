"""An input of the step has a dimension that is zero or negative.

## What it does
Looks at the shapes of the step's arguments: no dimension may be negative, and no dimension of a batch input zero.

## Why is this bad?
JAX traces, lowers and even compiles a step for a batch of -8 sequences without a word. Such a batch comes from a
configuration that counts devices or slices it was never told: a MaxText configuration with `compile_topology` and no
`compile_topology_num_slices` has -1 slices and so a negative batch. Memory and collectives of such a program mean
nothing.

## Example
```yaml
# inputs: int32[-8, 256]
overrides: { compile_topology: v5e-8 }
```

## Use instead
```yaml
# inputs: int32[8, 256]
overrides: { compile_topology: v5e-8, compile_topology_num_slices: 1 }
```

## References
- https://github.com/AI-Hypercomputer/maxtext/blob/main/src/maxtext/trainers/pre_train/train_compile.py
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....hlo_tools.tensors import Tensor
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    wrong = [row for row in evidence.tensors.rows if _least(row) < (row.class_ == "batch")]
    if not wrong:
        return
    first = wrong[0]
    others = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    key = "batch.size" if evidence.contract.batch is not None else f"{evidence.step_key}.args"
    yield RULE.finding(
        f"input {first.path}{others} has the shape {list(first.global_shape)}: a dimension of {_least(first)}",
        subject=first.path,
        location=evidence.place(key),
        key=key,
        expected="at least 1 in every dimension",
        found=f"{_least(first)}",
        evidence=shown(f"{row.path}: {list(row.global_shape)} {row.dtype}" for row in wrong),
        help="give the configuration the number of devices and slices it multiplies the batch with",
    )


def _least(row: Tensor) -> int:
    return min(row.global_shape, default=1)


RULE = Rule(code="DAT203", name="empty-batch", severity="error", evidence="trace", doc=__doc__ or "", check=check)
