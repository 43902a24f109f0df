"""The step was captured on another mesh than the contract promises.

## What it does
Compares the axes of the mesh that the captured program runs on, and how they lie across slices or hosts, with the
target's mesh in the contract. Axes of size 1 do not count. Where no argument is placed and nothing in the step names
the mesh, JAX compiles for one device, whatever mesh `build` was given.

## Why is this bad?
Placements, collectives and bytes are those of a mesh. A program on another one says nothing about this contract, in
whichever way its figures compare.

## Example
```yaml
# the capture was made with data: 2, fsdp: 4
mesh: { axes: { data: 4, fsdp: 2 } }
```
```python
# placed nowhere: one device does all the work
args = (jax.ShapeDtypeStruct((64, 128), jnp.float32),)
```

## Use instead
Make the capture again, or let the step use the mesh that it is given.
```python
split = NamedSharding(mesh, P("data"))
args = (jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=split),)
```

## References
- https://docs.jax.dev/en/latest/jax.html#jax.make_mesh
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....contracts.finding import Finding
from ....contracts.manifest import Leaf
from ....contracts.target_name import TargetName, parse_target
from ....hlo_tools.roofline.fabric import PARTS, parts_along
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, mesh = evidence.mesh_section, evidence.mesh
    if section is None or (mesh is None and evidence.facts.error is not None):
        return
    target = parse_target(evidence.target)
    promised = _text(target, section.axes, section.dcn)
    found = "no mesh"
    if mesh is not None:
        # Between GPU hosts a contract need not say which axis crosses; between slices it must.
        told = section.dcn or target.platform != "cuda"
        found = _text(target, mesh.axes, parts_along(target, mesh) if told else mesh.dcn)
    unplaced: tuple[str, ...] = ()
    advice = "make the capture again, or build the step on the mesh that it is given"
    if mesh is not None and _is_alone(evidence):
        found = _text(target, {}, {})
        unplaced = shown(f"{_name(leaf)}: placed nowhere" for leaf in evidence.facts.arguments if leaf.asked is None)
        advice = (
            "give the arguments of the step a sharding on the mesh that `build` gets: "
            "jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(...)))"
        )
    if promised == found:
        return
    own = any(entry.target == evidence.target and entry.mesh is not None for entry in evidence.contract.targets)
    key = "targets" if own else "mesh.axes"
    yield RULE.finding(
        f"the captured program runs on {found}, the contract promises {promised}",
        subject="mesh",
        location=evidence.place(key),
        key=key,
        expected=promised,
        found=found,
        evidence=unplaced,
        help=advice,
    )


def _is_alone(evidence: StepEvidence) -> bool:
    """Whether the program runs on one device: then nothing is partitioned. Of several slices with one device each, the
    optimised program is one slice's."""
    module = evidence.step.partitioned or evidence.step.optimized
    return module is not None and module.num_partitions * module.replica_count == 1


def _name(leaf: Leaf) -> str:
    return f"{leaf.argument}/{leaf.path}" if leaf.path else leaf.argument


def _text(target: TargetName, axes: Mapping[str, int], dcn: Mapping[str, int]) -> str:
    """Axes in order, outermost first: another order is another placement of the devices."""
    inner = " x ".join(f"{axis}={size}" for axis, size in axes.items() if size > 1) or "one device"
    outer = ", ".join(f"{axis}={size}" for axis, size in sorted(dcn.items()) if size > 1)
    return f"{inner} (across {PARTS.get(target.platform, 'slices')}: {outer})" if outer else inner


RULE = Rule(code="SHD214", name="mesh-mismatch", severity="error", evidence="trace", doc=__doc__ or "", check=check)
