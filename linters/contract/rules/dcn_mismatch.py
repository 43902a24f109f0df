"""A data-centre axis is not an axis of the mesh, does not divide it, or does not fit the target's slices or hosts.

## What it does
Compares every entry of `mesh.dcn` with the axis of that name: the whole axis must be a multiple of its part across
slices. On a TPU target of several slices the parts must multiply to the number of slices; on a CUDA target that has
them, to the number of hosts.

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
from math import prod

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.suggest import did_you_mean
from ....contracts.target_name import parse_target
from ...rule import Rule
from ..view import Mesh, View


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
        yield from _misfits(view, mesh)


def _misfits(view: View, mesh: Mesh) -> Iterable[Finding]:
    """Targets whose slices or hosts are not what the data-centre axes make."""
    across = [count for count in mesh.dcn.values() if count is not None]
    if len(across) < len(mesh.dcn) or any(axis not in mesh.sizes for axis in mesh.dcn):
        return
    for key, name in mesh.targets:
        try:
            parsed = parse_target(name)
        except ValueError:
            continue
        # Hosts of GPUs need no data-centre axis; simulated devices have no network.
        optional = parsed.platform == "cpu" or (parsed.platform == "cuda" and prod(across) == 1)
        if optional or prod(across) == parsed.groups:
            continue
        word = "slices" if parsed.platform == "tpu" else "hosts"
        yield view.finding(
            RULE,
            (*mesh.key, "dcn") if mesh.dcn else key,
            f"target `{name}` has {parsed.groups} {word}, the data-centre axes of {mesh.label} make {prod(across)}",
            subject=f"dcn:{name}",
            expected=str(parsed.groups),
            found=str(prod(across)),
            help=f"say which axis lies across the {word}, e.g. dcn: {{ {next(iter(mesh.sizes))}: {parsed.groups} }}",
        )


RULE = Rule(
    code="SHD012",
    name="dcn-mismatch",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
