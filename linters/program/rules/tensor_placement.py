"""A tensor is placed otherwise than the contract promises.

## What it does
Compares, for every parameter and optimizer slot, the mesh axes that the compiled program splits each dimension over
with those the contract derives from `parameters.rules`, `parameters.logical_axes` and `optimizer.placement`.

## Why is this bad?
A PartitionSpec that is dropped on the way to `jit` leaves the tensor replicated: the step still runs, every device
holds a full copy, and the compiler adds collectives nobody planned.

## Example
```yaml
parameters:
  rules:
    # the program holds P() instead of P(None, 'fsdp')
    - { match: "layers/mlp/w_up", axes: [layer, embed, mlp] }
```

## Use instead
Give the array the sharding that the contract names, or correct the rule in the contract.

## References
- https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
- https://github.com/AI-Hypercomputer/maxtext/issues/2311
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ....contracts.finding import Finding
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..placement import Misplaced, misplaced
from ..wording import spec_text


def check(evidence: StepEvidence) -> Iterable[Finding]:
    groups: dict[str, list[Misplaced]] = defaultdict(list)
    for item in misplaced(evidence):
        groups[item.key].append(item)
    for key, items in groups.items():
        first = items[0]
        expected, found = first.expected, first.found
        others = f" and {len(items) - 1} more" if len(items) > 1 else ""
        role = first.tensor.class_.replace("_", " ")
        yield RULE.finding(
            f"{role} {first.tensor.path}{others} is placed as {spec_text(found)}, promised {spec_text(expected)}",
            subject=f"{key}:{first.tensor.path}",
            location=evidence.place(key),
            key=key,
            expected=spec_text(expected),
            found=spec_text(found),
            evidence=shown(
                f"{i.tensor.path}: {list(i.tensor.global_shape)} {i.tensor.dtype}, {spec_text(i.found)}, "
                f"promised {spec_text(i.expected)}"
                for i in items
            ),
            help="give the array this sharding where the step builds its arguments, or correct the contract",
            details={"path": first.tensor.path, "class": first.tensor.class_},
        )


RULE = Rule(
    code="SHD202", name="tensor-placement", severity="error", evidence="program", doc=__doc__ or "", check=check
)
