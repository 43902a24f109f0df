"""Where the contract wants each tensor, against where the program holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...contracts.model import OptimizerSection, ParameterRule, ParametersSection, as_axes
from ...contracts.plan.placement import matching_rule
from ...hlo_tools.tensors import Tensor
from ..evidence import StepEvidence

Spec = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Misplaced:
    """One tensor that lies elsewhere than promised; `key` is the contract key that promises it.

    A logical axis that no parameter follows is promised wrongly where it is mapped, one that others follow in the rule.
    """

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
    wrong = _parameters(evidence.tensors.rows, section, sizes)
    wrong_paths = {item.tensor.path for item in wrong}
    wrong += _slots(evidence, section, sizes, wrong_paths)
    return wrong


def _parameters(rows: Iterable[Tensor], section: ParametersSection, sizes: dict[str, int]) -> list[Misplaced]:
    wrong: list[tuple[int, ParameterRule, Misplaced]] = []
    followed: set[str] = set()
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
            wrong.append((index, rule, Misplaced(tensor, expected, found, f"parameters.rules[{index}]")))
        for axis, want, have in zip(rule.axes, expected, found or (), strict=False):
            if axis is not None and want == have:
                followed.add(axis)
    mapped = set(section.logical_axes) - followed
    return [replace(item, key=_blame(item, index, rule, mapped)) for index, rule, item in wrong]


def _blame(item: Misplaced, index: int, rule: ParameterRule, mapped: set[str]) -> str:
    """The narrowest key that explains a placement: one mapped axis, one axis of the rule, or the rule. `mapped` are the
    logical axes that no parameter follows."""
    have = item.found or ((),) * len(item.expected)
    if len(have) != len(item.expected):
        return item.key
    off = [d for d, (want, found) in enumerate(zip(item.expected, have, strict=True)) if want != found]
    names = {rule.axes[d] for d in off}
    if len(names) == 1 and (name := next(iter(names))) in mapped:
        return f"parameters.logical_axes.{name}"
    return f"{item.key}.axes[{off[0]}]" if len(off) == 1 else item.key


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
        if found not in expected_anywhere(match[1].axes, expected, section, optimizer, sizes):
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
    """A slot lies as its parameter; with a placement of its own, those axes split its `embed` dimension further.
    Without such a dimension it is the first that is split already, else the first."""
    base = mesh_spec(axes, section, sizes)
    if optimizer.placement == "parameters" or not base:
        return base
    split = next((dimension for dimension, names in enumerate(base) if names), 0)
    return _split_further(base, list(axes).index("embed") if "embed" in axes else split, optimizer, sizes)


def expected_anywhere(
    axes: Sequence[str | None],
    expected: Spec,
    section: ParametersSection,
    optimizer: OptimizerSection,
    sizes: dict[str, int],
) -> list[Spec]:
    """The placements of a slot that keep the promise: which dimension is split further is free without `embed`."""
    if optimizer.placement == "parameters" or "embed" in axes:
        return [expected]
    base = mesh_spec(axes, section, sizes)
    return [expected, *(_split_further(base, dimension, optimizer, sizes) for dimension in range(len(base)))]


def _split_further(base: Spec, dimension: int, optimizer: OptimizerSection, sizes: dict[str, int]) -> Spec:
    used = {name for names in base for name in names}
    extra = tuple(a for a in as_axes(optimizer.placement) if sizes.get(a, 1) > 1 and a not in used)
    return tuple(names + extra if index == dimension else names for index, names in enumerate(base))


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
