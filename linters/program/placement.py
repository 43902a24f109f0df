"""Where the contract wants each tensor, against where the program holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...contracts.model import OptimizerSection, ParametersSection, as_axes
from ...contracts.plan.placement import matching_rule
from ...hlo_tools.tensors import Tensor
from ..evidence import StepEvidence

Spec = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Misplaced:
    """One tensor that lies elsewhere than promised; `key` is the contract key that promises it."""

    tensor: Tensor
    expected: Spec
    found: Spec | None
    key: str


def misplaced(evidence: StepEvidence) -> list[Misplaced]:
    """Parameters and slots whose placement differs from the promise. A slot that merely follows its parameter's own
    fault is not listed again: the parameter is the cause."""
    section = evidence.contract.parameters
    if section is None or not section.rules:
        return []
    sizes = dict(evidence.mesh.axes) if evidence.mesh is not None else {}
    wrong = list(_parameters(evidence.tensors.rows, section, sizes))
    wrong_paths = {item.tensor.path for item in wrong}
    wrong += _slots(evidence, section, sizes, wrong_paths)
    return wrong


def _parameters(rows: Iterable[Tensor], section: ParametersSection, sizes: dict[str, int]) -> Iterable[Misplaced]:
    for tensor in rows:
        if tensor.class_ != "parameter":
            continue
        match = matching_rule(section.rules, tensor.path)
        if match is None:
            continue
        index, rule = match
        expected = mesh_spec(rule.axes, section, sizes)
        found = normal(tensor.spec, sizes)
        if found != expected:
            yield Misplaced(tensor, expected, found, f"parameters.rules[{index}]")


def _slots(
    evidence: StepEvidence, section: ParametersSection, sizes: dict[str, int], wrong_paths: set[str]
) -> Iterable[Misplaced]:
    optimizer = evidence.contract.optimizer
    if optimizer is None:
        return
    parameters = {t.path: t for t in evidence.tensors.rows if t.class_ == "parameter"}
    for tensor in evidence.tensors.rows:
        if tensor.class_ != "optimizer_slot":
            continue
        owner = owner_of(tensor, parameters)
        if owner is None or owner.path in wrong_paths:
            continue
        match = matching_rule(section.rules, owner.path)
        if match is None:
            continue
        expected = slot_spec(match[1].axes, section, optimizer, sizes)
        found = normal(tensor.spec, sizes)
        if found != expected:
            yield Misplaced(tensor, expected, found, "optimizer.placement")


def owner_of(slot: Tensor, parameters: dict[str, Tensor]) -> Tensor | None:
    """The parameter whose path is the longest tail of the slot's path."""
    parts = slot.path.split("/")
    tails = ("/".join(parts[start:]) for start in range(1, len(parts)))
    by_tail = {tail: p for path, p in parameters.items() for tail in (path, path.split("/", 1)[-1])}
    return next((by_tail[tail] for tail in tails if tail in by_tail), None)


def mesh_spec(axes: Sequence[str | None], section: ParametersSection, sizes: dict[str, int]) -> Spec:
    """Logical axes as mesh axes, those of size 1 left out."""
    return tuple(_mesh_axes(axis, section, sizes) for axis in axes)


def slot_spec(
    axes: Sequence[str | None], section: ParametersSection, optimizer: OptimizerSection, sizes: dict[str, int]
) -> Spec:
    """A slot lies as its parameter; with a placement of its own, those axes split its `embed` dimension further."""
    spec = list(mesh_spec(axes, section, sizes))
    if optimizer.placement == "parameters":
        return tuple(spec)
    extra = tuple(a for a in as_axes(optimizer.placement) if sizes.get(a, 1) > 1)
    if "embed" in axes:
        dimension = list(axes).index("embed")
        spec[dimension] += tuple(a for a in extra if a not in spec[dimension])
    return tuple(spec)


def _mesh_axes(axis: str | None, section: ParametersSection, sizes: dict[str, int]) -> tuple[str, ...]:
    if axis is None:
        return ()
    mapped = section.logical_axes.get(axis, axis)
    return tuple(name for name in as_axes(mapped) if sizes.get(name, 1) > 1)


def normal(spec: Sequence[Sequence[str]] | None, sizes: dict[str, int]) -> Spec | None:
    """A placement with axes of size 1 left out, so that equal layouts compare equal."""
    if spec is None:
        return None
    return tuple(tuple(axis for axis in dimension if sizes.get(axis, 1) > 1) for dimension in spec)
