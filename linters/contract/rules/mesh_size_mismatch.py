"""A mesh has more or fewer devices than its target.

## What it does
Multiplies the axes of each mesh and compares with the devices the target's name gives.

## Why is this bad?
A mesh must use every device exactly once; otherwise it cannot be built, or part of the machine is idle.

## Example
```yaml
targets: [cpu:8]
mesh: { axes: { data: 2, fsdp: 8 } }
```

## Use instead
```yaml
targets: [cpu:8]
mesh: { axes: { data: 2, fsdp: 4 } }
```

## References
- https://docs.jax.dev/en/latest/jax.html#jax.make_mesh
- https://github.com/AI-Hypercomputer/maxtext/issues/1637
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.load import LoadedContract
from ....contracts.target_name import parse_target
from ...rule import Rule
from ..view import View


def check(loaded: LoadedContract) -> Iterable[Finding]:
    view = View(loaded)
    for mesh in view.meshes:
        size = mesh.ways(mesh.sizes)
        known = [(key, name, devices) for key, name in mesh.targets if (devices := _devices(name)) is not None]
        wrong = [case for case in known if size is not None and size != case[2]]
        everywhere = len(wrong) == len(known)
        for key, name, devices in wrong[: 1 if everywhere else None]:
            yield view.finding(
                RULE,
                (*mesh.key, "axes") if everywhere else key,
                f"{mesh.label} has {size} devices, target `{name}` has {devices}",
                expected=str(devices),
                found=str(size),
                help="give the target a mesh of its own: { target: ..., mesh: { axes: ... } }",
            )


def _devices(name: str) -> int | None:
    try:
        return parse_target(name).devices
    except ValueError:
        return None


RULE = Rule(
    code="SHD006",
    name="mesh-size-mismatch",
    severity="error",
    evidence="contract",
    doc=__doc__ or "",
    check=check,
)
