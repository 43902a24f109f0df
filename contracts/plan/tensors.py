"""State bytes in closed form: every tensor that enters the step, its shard and its bytes per device.

    bytes per device = sum over arrays of  elements / product of its mesh axes * bytes per element

over parameters, optimizer slots, the batch and the counters: the memory of ZeRO (Rajbhandari et al. 1910.02054,
section 3.1 and figure 1), with each state divided by the axes that the contract places it over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from ..model import Contract, MeshSection, OptimizerSection, as_axes
from .error import PlanError
from .parameters import parameters_of
from .placement import Placement, Spec, check_spec, local_shape, place_parameter

Role = Literal["parameter", "optimizer_slot", "batch", "counter"]

SLOTS: dict[str, tuple[str, ...]] = {"adamw": ("mu", "nu"), "adam": ("mu", "nu"), "momentum": ("trace",), "sgd": ()}
"""Arrays that each optimizer keeps for every parameter, as optax names them (Adam 1412.6980: first and second
moment)."""

COUNTED = ("adamw", "adam")
"""Optimizers that keep a step counter of their own (Adam's bias correction). A schedule of the learning rate keeps
another, as `optax.scale_by_schedule` does."""

_NAMED_BYTES = {"bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1}


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """One array of the step's arguments. `name` ends the state path of the array at a `/` boundary; `bytes` is per
    device."""

    role: Role
    name: str
    shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    dtype: str
    spec: Spec
    bytes: int
    key: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "name": self.name,
            "shape": list(self.shape),
            "local_shape": list(self.local_shape),
            "dtype": self.dtype,
            "spec": [list(axes) for axes in self.spec],
            "bytes": self.bytes,
            "key": self.key,
        }


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """All planned tensors. Bytes are per device, without the padding a backend adds.

    `batch_known` is False where the model does not say what its batch looks like: there are no batch rows then.
    """

    rows: tuple[PlannedTensor, ...]
    batch_known: bool = True

    def of(self, role: Role) -> tuple[PlannedTensor, ...]:
        return tuple(tensor for tensor in self.rows if tensor.role == role)

    def bytes_by_role(self) -> dict[str, int]:
        totals: dict[str, int] = dict.fromkeys(("parameter", "optimizer_slot", "batch", "counter"), 0)
        for tensor in self.rows:
            totals[tensor.role] += tensor.bytes
        return totals

    @property
    def state_bytes(self) -> int:
        """Parameters, optimizer slots and counters: what stays on the device between steps."""
        totals = self.bytes_by_role()
        return totals["parameter"] + totals["optimizer_slot"] + totals["counter"]

    @property
    def argument_bytes(self) -> int | None:
        """State and batch: everything the step is called with. None where the batch is not known."""
        return sum(tensor.bytes for tensor in self.rows) if self.batch_known else None


def itemsize(dtype: str, key: str) -> int:
    """Bytes of one element of a dtype as numpy or ml_dtypes spells it. Raises PlanError for an unknown one."""
    if dtype in _NAMED_BYTES:
        return _NAMED_BYTES[dtype]
    match = re.fullmatch(r"(?:bfloat|float|uint|int|complex)(8|16|32|64|128)", dtype)
    if match is None:
        raise PlanError(key, f"`{dtype}` is not a dtype with a known size")
    return int(match[1]) // 8


def required(contract: Contract, *sections: str) -> None:
    """Raises PlanError for the first of these sections that the contract does not have."""
    for section in sections:
        if getattr(contract, section) is None:
            raise PlanError(section, "the section is missing")


def mesh_of(contract: Contract, target: str) -> MeshSection:
    """The mesh of a target. Raises PlanError where there is none or an axis has no devices."""
    mesh = contract.mesh_for(target)
    if mesh is None:
        raise PlanError("mesh", f"target `{target}` has no mesh")
    for axis, size in mesh.axes.items():
        if size < 1:
            raise PlanError(f"mesh.axes.{axis}", f"an axis needs at least one device, found {size}")
    return mesh


def slot_spec(placement: Placement, optimizer: OptimizerSection, mesh: MeshSection) -> Spec:
    """The placement of a parameter's optimizer slots: as the parameter, or with the ZeRO-1 axes added to its `embed`
    dimension.

    Source: ZeRO 1910.02054, section 5.1 (P_os). Raises PlanError where there is no `embed` dimension to split.
    """
    if optimizer.placement == "parameters":
        return placement.spec
    path = placement.parameter.path
    if "embed" not in placement.logical:
        raise PlanError("optimizer.placement", f"`{path}` has no `embed` dimension to split its slots over")
    dimension = placement.logical.index("embed")
    extra = tuple(axis for axis in as_axes(optimizer.placement) if axis not in placement.spec[dimension])
    spec = tuple(axes + extra if index == dimension else axes for index, axes in enumerate(placement.spec))
    check_spec(f"optimizer slots of {path}", placement.parameter.shape, spec, mesh, "optimizer.placement")
    return spec


def plan_tensors(contract: Contract, target: str) -> TensorPlan:
    """Every array the step is called with on one target, from the contract alone.

    Raises PlanError, with the key at fault, where a section is missing or a placement does not fit.
    """
    required(contract, "model", "dtypes", "optimizer", "parameters", "batch")
    mesh = mesh_of(contract, target)
    assert contract.model and contract.dtypes and contract.optimizer and contract.batch
    placements = [place_parameter(parameter, contract, mesh) for parameter in parameters_of(contract.model)]
    master, moments = contract.dtypes.master, contract.dtypes.moments
    rows = [
        _row("parameter", p.parameter.path, p.parameter.shape, p.spec, master, mesh, p.key, "dtypes.master")
        for p in placements
    ]
    for slot in SLOTS[contract.optimizer.name]:
        for p in placements:
            spec = slot_spec(p, contract.optimizer, mesh)
            name = f"{slot}/{p.parameter.path}"
            rows.append(
                _row(
                    "optimizer_slot",
                    name,
                    p.parameter.shape,
                    spec,
                    moments,
                    mesh,
                    "optimizer.placement",
                    "dtypes.moments",
                )
            )
    rows += _batch(contract, mesh)
    counters = [("step", "optimizer.name")]
    counters += [("count", "optimizer.name")] if contract.optimizer.name in COUNTED else []
    counters += [("count", "optimizer.schedule")] if contract.optimizer.counts_schedule else []
    rows += [_row("counter", name, (), (), "int32", mesh, key, "") for name, key in counters]
    return TensorPlan(tuple(rows), batch_known=contract.model.kind == "dense")


def _batch(contract: Contract, mesh: MeshSection) -> list[PlannedTensor]:
    """Token ids, next-token targets and loss weights, [batch, sequence] each; none for a listed model."""
    assert contract.batch and contract.model
    if contract.model.kind != "dense":
        return []
    shape = (contract.batch.size, contract.model.sequence)
    spec: Spec = (as_axes(contract.batch.axes), ())
    check_spec("batch", shape, spec, mesh, "batch.axes")
    dtypes = {"tokens": "int32", "targets": "int32", "loss_mask": "float32"}
    return [_row("batch", name, shape, spec, dtype, mesh, "batch", "") for name, dtype in dtypes.items()]


def _row(
    role: Role, name: str, shape: tuple[int, ...], spec: Spec, dtype: str, mesh: MeshSection, key: str, dtype_key: str
) -> PlannedTensor:
    local = local_shape(shape, spec, mesh)
    return PlannedTensor(role, name, shape, local, dtype, spec, prod(local) * itemsize(dtype, dtype_key), key)
