"""Where everything lives: logical axes of parameters and activations, mapped to the axes of one Explicit mesh.

A parallel plan is nothing but this map:

    plain data parallel   batch over (data,)                 embed: None
    ZeRO-1                batch over (data,)                 embed: None, optimizer_axes (data,)
    FSDP (ZeRO-3)         batch over (data, fsdp)            embed: fsdp
    tensor parallel       batch over (data,)                 heads, mlp, vocab: tp
    products              any of the above on a mesh that has all the axes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

LOGICAL_AXES = ("layer", "embed", "heads", "mlp", "vocab")
Axes = str | Iterable[str] | None


def as_axes(axes: Axes) -> tuple[str, ...]:
    """One mesh axis, several or none, as a tuple."""
    if axes is None:
        return ()
    return (axes,) if isinstance(axes, str) else tuple(axes)


def explicit(mesh: Mesh) -> Mesh:
    """The same devices and names with every axis Explicit: an array's type then carries its placement."""
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Explicit,) * len(mesh.axis_names))


@dataclass(frozen=True)
class Placement:
    """A mesh and the roles of its axes. Hashable, so that it can be part of a module's static description.

    logical: pairs (logical axis, mesh axes); batch: mesh axes of the batch dimension;
    optimizer: mesh axes over which the `embed` dimension of optimizer slots is split further (ZeRO-1).
    """

    mesh: Mesh
    logical: tuple[tuple[str, tuple[str, ...]], ...]
    batch: tuple[str, ...]
    optimizer: tuple[str, ...] = ()

    def axes(self, logical: str | None) -> tuple[str, ...]:
        """The mesh axes of one logical axis."""
        return () if logical is None else dict(self.logical).get(logical, ())

    def spec(self, *logical: str | None) -> PartitionSpec:
        """Placement of a parameter (or of one use of it) with these logical axes, one for each dimension."""
        return PartitionSpec(*(_entry(self.axes(name)) for name in logical))

    def slot_spec(self, *logical: str | None) -> PartitionSpec:
        """Placement of an optimizer slot: the parameter's, with the optimizer axes added to its `embed` dimension."""
        return PartitionSpec(
            *(_entry(self.axes(name) + (self.optimizer if name == "embed" else ())) for name in logical)
        )

    def activation(self, *logical: str | None) -> PartitionSpec:
        """Placement of an activation: batch first, then these logical axes."""
        return PartitionSpec(_entry(self.batch), *(_entry(self.axes(name)) for name in logical))

    def microbatches(self, *rest: str | None) -> PartitionSpec:
        """Placement of a batch split in microbatches [N, B/N, ...]: every microbatch is spread over all batch axes."""
        return PartitionSpec(None, _entry(self.batch), *rest)

    def sharding(self, spec: PartitionSpec) -> NamedSharding:
        return NamedSharding(self.mesh, spec)

    def context(self) -> Any:
        """While tracing (under `jax.jit`, `jax.eval_shape`, ...), inside it a bare PartitionSpec means this mesh."""
        return jax.sharding.use_abstract_mesh(self.mesh.abstract_mesh)


def _entry(axes: tuple[str, ...]) -> str | tuple[str, ...] | None:
    if not axes:
        return None
    return axes[0] if len(axes) == 1 else axes


def placement(
    mesh: Mesh,
    logical_axes: Mapping[str, Axes] | None = None,
    batch_axes: Axes = None,
    optimizer_axes: Axes = None,
) -> Placement:
    """The placement on a mesh. What is not given follows the usual axis names the mesh has:

    `embed` over `fsdp`; `heads`, `mlp` and `vocab` over `tp`; the batch over every axis that no activation uses.
    Raises ValueError for an unknown logical axis or a mesh axis that the mesh does not have.
    """
    names = tuple(mesh.axis_names)
    default = {name: "tp" if "tp" in names else None for name in ("heads", "mlp", "vocab")}
    default |= {"layer": None, "embed": "fsdp" if "fsdp" in names else None}
    given = dict(logical_axes) if logical_axes is not None else default
    if unknown := sorted(set(given) - set(LOGICAL_AXES)):
        raise ValueError(f"unknown logical axis {', '.join(unknown)}; known are {', '.join(LOGICAL_AXES)}")
    logical = {name: as_axes(given.get(name)) for name in LOGICAL_AXES}
    inner = {axis for name in ("heads", "mlp", "vocab") for axis in logical[name]}
    batch = as_axes(batch_axes) if batch_axes is not None else tuple(a for a in names if a not in inner)
    slots = as_axes(optimizer_axes)
    for role, used in (*logical.items(), ("batch", batch), ("optimizer slots", slots)):
        if missing := [axis for axis in used if axis not in names]:
            raise ValueError(f"{role} is placed on {', '.join(missing)}, but the mesh has {', '.join(names)}")
    return Placement(explicit(mesh), tuple(logical.items()), batch, slots)
