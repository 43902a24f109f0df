"""The step was captured on another mesh than the contract promises.

## What it does
Compares the axes of the mesh that the captured program runs on, and how they lie across slices or hosts, with the
target's mesh in the contract. Axes of size 1 do not count.

## Why is this bad?
Placements, collectives and bytes are those of a mesh. A program on another one says nothing about this contract, in
whichever way its figures compare.

## Example
```yaml
# the capture was made with data: 2, fsdp: 4
mesh: { axes: { data: 4, fsdp: 2 } }
```

## Use instead
Make the capture again, or let the step use the mesh that it is given.

## References
- https://docs.jax.dev/en/latest/jax.html#jax.make_mesh
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....contracts.finding import Finding
from ...evidence import StepEvidence
from ...rule import Rule


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, mesh = evidence.mesh_section, evidence.mesh
    if section is None or (mesh is None and evidence.facts.error is not None):
        return
    promised = _text(section.axes, section.dcn)
    found = "no mesh" if mesh is None else _text(mesh.axes, mesh.dcn)
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
        help="make the capture again, or build the step on the mesh that it is given",
    )


def _text(axes: Mapping[str, int], dcn: Mapping[str, int]) -> str:
    """Axes in order, outermost first: another order is another placement of the devices."""
    inner = " x ".join(f"{axis}={size}" for axis, size in axes.items() if size > 1) or "one device"
    outer = ", ".join(f"{axis}={size}" for axis, size in sorted(dcn.items()) if size > 1)
    return f"{inner} (across slices: {outer})" if outer else inner


RULE = Rule(code="SHD214", name="mesh-mismatch", severity="error", evidence="trace", doc=__doc__ or "", check=check)
