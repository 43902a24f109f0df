"""Where a contract wants what is saved, against where it lay when it was saved.

Axes are compared on the mesh that an array was saved on: another mesh is a difference of its own, told once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...contracts.model import as_axes
from ...contracts.plan.error import PlanError
from ...contracts.plan.parameters import parameters_of
from ...contracts.plan.placement import Spec, matching_rule
from ..program.placement import expected_anywhere, mesh_spec, normal, slot_spec
from .evidence import CheckpointEvidence
from .facts import Leaf, Placed


@dataclass(frozen=True, slots=True)
class PromisedPlacement:
    """One array whose placement is promised and known. `allowed`: the promise first, then what keeps it too."""

    path: str
    allowed: tuple[Spec, ...]
    found: Spec
    key: str

    @property
    def kept(self) -> bool:
        return self.found in self.allowed


def promised_placements(evidence: CheckpointEvidence) -> list[PromisedPlacement]:
    """Parameters by `parameters`, optimizer slots by `optimizer.placement`, further arrays by `checkpoint.leaves`."""
    return [*_parameters(evidence), *_slots(evidence), *_leaves(evidence)]


def other_mesh(evidence: CheckpointEvidence) -> tuple[dict[str, int], list[dict[str, int]]] | None:
    """The mesh that most parameters were saved on and those of the contract; None where it is one of them.

    Where no parameter's is known, that of most arrays.
    """
    contract = evidence.contract
    if contract is None:
        return None
    sections = [contract.mesh, *(contract.mesh_for(each.target) for each in contract.targets)]
    meshes = [dict(each.axes) for each in sections if each is not None]
    both = evidence.parameters, evidence.checkpoint.arrays
    saved = next(filter(None, ([dict(each.placed.mesh) for each in of.values() if each.placed] for of in both)), [])
    if not meshes or not saved:
        return None
    usual = max(saved, key=saved.count)
    known = [_split(each) for each in meshes]
    return (
        None if _split(usual) in known else (usual, [each for n, each in enumerate(meshes) if each not in meshes[:n]])
    )


def _parameters(evidence: CheckpointEvidence) -> Iterable[PromisedPlacement]:
    section = evidence.contract.parameters if evidence.contract is not None else None
    if section is None:
        return
    start = f"{evidence.root}/" if evidence.root else ""
    for path, (axes, key) in _logical(evidence).items():
        leaf = evidence.parameters[path]
        placed = _known(leaf, axes)
        if placed is not None:
            expected = mesh_spec(axes, section, dict(placed.mesh))
            yield PromisedPlacement(f"{start}{path}", (expected,), _found(placed, axes), key)


def _slots(evidence: CheckpointEvidence) -> Iterable[PromisedPlacement]:
    contract = evidence.contract
    if contract is None or contract.parameters is None or contract.optimizer is None:
        return
    section, optimizer = contract.parameters, contract.optimizer
    key = "optimizer.placement"
    for name, same_shape in evidence.expected_slots.items():
        slot = evidence.slots.get(name)
        if slot is None or not same_shape:
            continue
        for path, (axes, rule) in _logical(evidence).items():
            leaf = slot.entries.get(path)
            placed = _known(leaf, axes) if leaf is not None else None
            if placed is not None:
                sizes = dict(placed.mesh)
                expected = slot_spec(axes, section, optimizer, sizes)
                allowed = expected_anywhere(axes, expected, section, optimizer, sizes)
                follows = optimizer.placement == "parameters"
                yield PromisedPlacement(
                    slot.paths[path], tuple(allowed), _found(placed, axes), rule if follows else key
                )


def _leaves(evidence: CheckpointEvidence) -> Iterable[PromisedPlacement]:
    sections = evidence.section.leaves
    for path, promise, leaf in evidence.promised_arrays():
        section = sections.get(promise.path) if promise.shape_key.startswith("checkpoint.leaves") else None
        if section is None or section.axes is None:
            continue
        axes = tuple(map(as_axes, section.axes))
        placed = _known(leaf, axes)
        if placed is not None:
            expected = normal(axes, dict(placed.mesh)) or ()
            yield PromisedPlacement(path, (expected,), _found(placed, axes), promise.shape_key)


def _logical(evidence: CheckpointEvidence) -> dict[str, tuple[Sequence[str | None], str]]:
    """Parameter that is there -> its logical axes, and the key that gives them."""
    contract = evidence.contract
    if contract is None or contract.parameters is None:
        return {}
    try:
        listed = parameters_of(contract.model) if contract.model is not None else []
        own = {each.path: each.axes for each in listed if each.axes}
        rules = contract.parameters.rules
        matches = {path: matching_rule(rules, evidence.called(path)) for path in evidence.parameters}
    except PlanError:
        return {}  # `contract-lint check` says why
    found: dict[str, tuple[Sequence[str | None], str]] = {}
    for path, match in matches.items():
        if match is not None:
            found[path] = match[1].axes, f"parameters.rules[{match[0]}]"
        elif evidence.called(path) in own:
            found[path] = own[evidence.called(path)], "parameters.logical_axes"
    return found


def _known(leaf: Leaf, axes: Sequence[object]) -> Placed | None:
    """How an array lay, where that is known and it has as many dimensions as are promised."""
    return leaf.placed if leaf.shape is not None and len(leaf.shape) == len(axes) else None


def _found(placed: Placed, axes: Sequence[object]) -> Spec:
    spec = normal(placed.spec, dict(placed.mesh)) or ()
    return (*spec, *((),) * (len(axes) - len(spec)))


def _split(mesh: dict[str, int]) -> dict[str, int]:
    return {axis: size for axis, size in mesh.items() if size > 1}
