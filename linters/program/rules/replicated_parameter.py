"""A parameter above the contract's limit is replicated on every device.

## What it does
Lists parameters and optimizer slots larger than `parameters.replicated_max` that no mesh axis splits.

## Why is this bad?
A tensor that is whole on every device costs its full size times the number of devices, and its gradient is reduced in
full. One large leaf that escaped the sharding rules can undo what sharding the rest has saved.

## Example
```yaml
# embed/table, 256 KiB, is P() in the program
parameters: { replicated_max: 64KiB }
```

## Use instead
Split the tensor over a mesh axis, or raise the limit if the copy is meant.

## References
- https://github.com/AI-Hypercomputer/maxtext/blob/main/tests/unit/sharding_compare_test.py
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...evidence import StepEvidence
from ...rule import Rule
from ..placement import normal


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.contract.parameters
    if section is None or section.replicated_max is None or evidence.mesh is None:
        return
    sizes = dict(evidence.mesh.axes)
    if all(size == 1 for size in sizes.values()):
        return
    key = "parameters.replicated_max"
    for tensor in evidence.tensors.rows:
        spec = normal(tensor.spec, sizes)
        if tensor.class_ != "parameter" or spec is None or any(spec):
            continue
        if (tensor.bytes or 0) > section.replicated_max:
            yield RULE.finding(
                f"parameter {tensor.path} ({format_bytes(tensor.bytes or 0)}) is replicated on every device; "
                f"the limit is {format_bytes(section.replicated_max)}",
                subject=tensor.path,
                location=evidence.place(key),
                key=key,
                expected=f"at most {section.replicated_max:,} bytes replicated",
                found=f"{tensor.bytes:,} bytes",
                help="split it over a mesh axis, or raise the limit",
                details={"path": tensor.path, "class": tensor.class_},
            )


RULE = Rule(
    code="SHD203", name="replicated-parameter", severity="error", evidence="program", doc=__doc__ or "", check=check
)
