"""The rows of the batch do not divide into microbatches and over the devices.

## What it does
Divides the rows by `accumulation.microbatches` and by the devices along `batch.axes`, for every mesh of the contract.

## Why is this bad?
Devices without a whole row are padded, refused, or fed a batch that was gathered first.

## Example
```yaml
mesh: { axes: { data: 8 } }
batch: { size: 16, axes: [data] }   # the file: 12 rows
```

## Use instead
```yaml
mesh: { axes: { data: 4 } }
batch: { size: 16, axes: [data] }   # the file: 12 rows
```

## References
- https://github.com/jax-ml/jax/issues/26946
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from ....contracts.finding import Finding
from ....contracts.model import as_axes
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    contract, shape = evidence.contract, evidence.batch.shape
    if contract is None or shape is None or contract.batch is None:
        return
    microbatches = contract.microbatches
    axes = as_axes(contract.batch.axes)
    meshes = [contract.mesh, *(entry.mesh for entry in contract.targets)]
    ways = {prod(mesh.axes.get(axis, 1) for axis in dict.fromkeys(axes)) for mesh in meshes if mesh is not None} or {1}
    uneven = sorted(way for way in ways if shape[0] % (microbatches * way))
    if uneven:
        parts = f"{microbatches} microbatches and " if microbatches > 1 else ""
        yield evidence.finding(
            RULE,
            f"{shape[0]:,} rows do not divide into {parts}{uneven[0]} devices ({' x '.join(dict.fromkeys(axes))})",
            subject="rows",
            key="batch.axes",
            expected=f"a multiple of {microbatches * uneven[0]}",
            found=str(shape[0]),
        )


RULE = Rule(
    code="DAT611",
    name="batch-rows-not-divisible",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
