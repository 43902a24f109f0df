"""What follows from a contract: bound values, defaults taken and derived sizes, each with the formula it came from."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from pydantic import BaseModel

from .document import Document
from .key import format_key
from .model import Contract, DenseModel, MeshSection, as_axes, format_bytes
from .plan.error import PlanError
from .plan.parameters import head_dim, parameters_of
from .plan.tensors import plan_tensors


@dataclass(frozen=True, slots=True)
class Resolved:
    """One value. `key` is a contract key, or a name below the section it derives from; `value` is as printed."""

    key: str
    value: int | float | str | bool | None
    formula: str


def resolve(contract: Contract, document: Document) -> list[Resolved]:
    """All values that a reader of the contract does not see in it. What cannot be derived is left out."""
    return [*_bound(document), *_defaults(contract), *_sizes(contract), *_per_target(contract)]


def _bound(document: Document) -> list[Resolved]:
    rows = []
    for key, binding in document.bindings.items():
        node = document.node(key)
        if binding.found and node is not None:
            value = f"{len(node.value)} values" if isinstance(node.value, (dict, list)) else node.value
            rows.append(Resolved(format_key(key), value, f"{binding.reference} ({node.location})"))
    return rows


def _defaults(contract: Contract) -> list[Resolved]:
    """Fields of the sections in use that were not written and have a value all the same."""
    rows = []
    for name, section in contract:
        if not isinstance(section, BaseModel):
            continue
        for field in type(section).model_fields:
            value: Any = getattr(section, field)
            if field not in section.model_fields_set and isinstance(value, (int, float, str, bool)):
                rows.append(Resolved(f"{name}.{field}", value, "default"))
    return rows


def _sizes(contract: Contract) -> list[Resolved]:
    rows = []
    model, batch = contract.model, contract.batch
    if isinstance(model, DenseModel):
        if model.head_dim is None and model.d_model % model.heads == 0:
            rows.append(
                Resolved("model.head_dim", head_dim(model), f"d_model / heads = {model.d_model} / {model.heads}")
            )
        if batch is not None:
            tokens = batch.size * model.sequence
            rows.append(
                Resolved("batch.tokens", tokens, f"batch.size * model.sequence = {batch.size} * {model.sequence}")
            )
    if model is not None:
        try:
            parameters = parameters_of(model)
        except PlanError:
            parameters = ()
        if parameters:
            count = sum(prod(parameter.shape) for parameter in parameters)
            rows.append(Resolved("model.parameter_count", count, f"sum over {len(parameters)} parameters"))
    if batch is not None and contract.accumulation is not None and batch.size % contract.accumulation.microbatches == 0:
        parts = contract.accumulation.microbatches
        formula = f"batch.size / accumulation.microbatches = {batch.size} / {parts}"
        rows.append(Resolved("batch.microbatch", batch.size // parts, formula))
    return rows


def _per_target(contract: Contract) -> list[Resolved]:
    rows = []
    for entry in contract.targets:
        mesh = contract.mesh_for(entry.target)
        if mesh is None:
            continue
        label = f'["{entry.target}"]'
        sizes = " * ".join(f"{axis} {size}" for axis, size in mesh.axes.items())
        rows.append(Resolved(f"mesh.devices{label}", prod(mesh.axes.values()), sizes or "no axes"))
        rows += _batch_share(contract, mesh, label)
        try:
            plan = plan_tensors(contract, entry.target)
        except PlanError:
            continue
        parts = " + ".join(
            f"{role} {format_bytes(size)}" for role, size in plan.bytes_by_role().items() if role != "batch"
        )
        rows.append(Resolved(f"memory.state_bytes{label}", plan.state_bytes, f"per device: {parts}"))
    return rows


def _batch_share(contract: Contract, mesh: MeshSection, label: str) -> list[Resolved]:
    if contract.batch is None:
        return []
    axes = as_axes(contract.batch.axes)
    if not all(axis in mesh.axes for axis in axes):
        return []
    ways = prod(mesh.axes[axis] for axis in axes)
    if contract.batch.size % ways:
        return []
    formula = f"batch.size / ({' * '.join(axes) or '1'}) = {contract.batch.size} / {ways}"
    return [Resolved(f"batch.per_device{label}", contract.batch.size // ways, formula)]
