"""What a contract promises of single leaves: parameters and their slots from the model, further ones by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...contracts.key import format_key
from ...contracts.model import Contract
from ...contracts.plan.error import PlanError
from ...contracts.plan.parameters import parameters_of
from ...contracts.plan.tensors import SLOTS


@dataclass(frozen=True, slots=True)
class Promise:
    """One array. `key` is the contract's that says so, None for what it does not say."""

    path: str
    shape: tuple[int, ...] | None
    shape_key: str
    dtype: str | None
    dtype_key: str


def promised_parameters(contract: Contract | None) -> dict[str, Promise]:
    """Path below the parameters -> promise; empty where the contract has no model, or one that is no model."""
    if contract is None or contract.model is None:
        return {}
    try:
        listed = parameters_of(contract.model)
    except PlanError:
        return {}  # `contract-lint check` says why
    dtype = contract.dtypes.master if contract.dtypes is not None else None
    key = "model.parameters" if contract.model.kind == "listed" else "model"
    return {each.path: Promise(each.path, each.shape, key, dtype, "dtypes.master") for each in listed}


def promised_slots(contract: Contract | None) -> tuple[dict[str, bool], str]:
    """Slot -> whether it has the parameters' shapes, and the key that says so; empty where nothing does."""
    if contract is None:
        return {}, ""
    section = contract.checkpoint
    if section is not None and section.slots is not None:
        return {name: shapes == "parameters" for name, shapes in section.slots.items()}, "checkpoint.slots"
    if contract.optimizer is not None:
        return dict.fromkeys(SLOTS[contract.optimizer.name], True), "optimizer.name"
    return {}, ""


def promised_leaves(contract: Contract | None) -> Iterable[Promise]:
    """The arrays that the section `checkpoint` names."""
    if contract is None or contract.checkpoint is None:
        return
    for path, leaf in contract.checkpoint.leaves.items():
        key = format_key(("checkpoint", "leaves", path))
        shape = tuple(leaf.shape) if leaf.shape is not None else None
        yield Promise(path, shape, key, leaf.dtype, key)
