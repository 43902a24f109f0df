"""A placement or collective names an axis the mesh does not have.

## What it does
Looks up every mesh axis of `batch`, `optimizer`, `parameters`, `collectives` and `deviations` in every mesh of the
contract.

## Why is this bad?
JAX refuses an unknown axis when it traces; in a rule table it is often dropped, and the tensor is replicated.

## Example
```yaml
mesh: { axes: { data: 2, fsdp: 4 } }
batch: { size: 16, axes: [dta, fsdp] }
```

## Use instead
```yaml
mesh: { axes: { data: 2, fsdp: 4 } }
batch: { size: 16, axes: [data, fsdp] }
```

## References
- https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
- https://github.com/AI-Hypercomputer/maxtext/issues/2311
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.axis_part import axis_name
from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.suggest import did_you_mean
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for key, axis in view.axis_uses():
        if key[0] == "collectives":
            axis = axis_name(axis)
        without = [mesh for mesh in view.meshes if axis not in mesh.sizes]
        if without and view.complete:
            yield view.finding(
                RULE,
                key,
                f"`{axis}` is not an axis of {without[0].label}",
                expected=", ".join(without[0].sizes),
                found=axis,
                help=did_you_mean(axis, without[0].sizes),
            )


RULE = Rule(
    code="SHD001",
    name="axis-not-in-mesh",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
