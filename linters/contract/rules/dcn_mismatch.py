"""A data-centre axis is not an axis of the mesh or does not divide it.

## What it does
Compares every entry of `mesh.dcn` with the axis of that name: the whole axis must be a multiple of its part across
slices.

## Why is this bad?
A mesh over several slices is the product of a mesh inside a slice and one across them; both need whole sizes.

## Example
```yaml
mesh: { axes: { data: 6, fsdp: 4 }, dcn: { data: 4 } }
```

## Use instead
```yaml
mesh: { axes: { data: 8, fsdp: 4 }, dcn: { data: 4 } }
```

## References
- https://docs.jax.dev/en/latest/jax.experimental.mesh_utils.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.suggest import did_you_mean
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for mesh in view.meshes:
        for axis, across in mesh.dcn.items():
            key = (*mesh.key, "dcn", axis)
            if axis not in mesh.sizes:
                if view.complete:
                    yield view.finding(
                        RULE,
                        key,
                        f"`{axis}` is not an axis of {mesh.label}",
                        expected=", ".join(mesh.sizes),
                        found=axis,
                        help=did_you_mean(axis, mesh.sizes),
                    )
                continue
            size = mesh.sizes[axis]
            if size is not None and across is not None and size % across:
                yield view.finding(
                    RULE,
                    key,
                    f"axis `{axis}` of {size} does not divide into {across} slices",
                    expected=f"a divisor of {size}",
                    found=str(across),
                )


RULE = Rule(
    code="SHD012",
    name="dcn-mismatch",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
