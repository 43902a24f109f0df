"""A batch input is not split over the mesh axes that the contract promises.

## What it does
Compares the placement of the first dimension of every batch input with `batch.axes`.

## Why is this bad?
A batch that is replicated makes every device do the work of all: the loss is right, the step is slow by the size of
the axis, and no error appears.

## Example
```python
# no sharding: replicated
tokens = jax.ShapeDtypeStruct((16, 128), jnp.int32)
```

## Use instead
```python
split = NamedSharding(mesh, P(("data", "fsdp")))
tokens = jax.ShapeDtypeStruct((16, 128), jnp.int32, sharding=split)
```

## References
- https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import as_axes
from ...evidence import StepEvidence
from ...rule import Rule
from ..placement import normal
from ..wording import axes_text


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section = evidence.contract.batch
    if section is None or evidence.mesh is None:
        return
    sizes = dict(evidence.mesh.axes)
    expected = tuple(axis for axis in as_axes(section.axes) if sizes.get(axis, 1) > 1)
    wrong = []
    for tensor in evidence.tensors.rows:
        # jit drops an input that the step never reads: it lies nowhere.
        if tensor.class_ != "batch" or not tensor.global_shape or tensor.parameter is None:
            continue
        spec = normal(tensor.spec, sizes)
        if spec is None or spec[0] != expected:
            wrong.append((tensor, spec[0] if spec else ()))
    if wrong:
        tensor, found = wrong[0]
        many = len(wrong) > 1
        inputs = f"inputs {tensor.path} and {len(wrong) - 1} more are" if many else f"input {tensor.path} is"
        yield RULE.finding(
            f"batch {inputs} split over {axes_text(found)}, promised over {axes_text(expected)}",
            subject=tensor.path,
            location=evidence.place("batch.axes"),
            key="batch.axes",
            expected=axes_text(expected),
            found=axes_text(found),
            evidence=tuple(f"{t.path}: {list(t.global_shape)} over {axes_text(axes)}" for t, axes in wrong),
            help="give the batch arguments this sharding, or correct `batch.axes`",
            details={"path": tensor.path},
        )


RULE = Rule(code="SHD212", name="batch-placement", severity="error", evidence="program", doc=__doc__ or "", check=check)
