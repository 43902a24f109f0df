"""Where each parameter, slot and batch array lives: logical axes mapped to mesh axes, shape divided by them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..model import Contract, MeshSection, ParameterRule, as_axes
from ..pattern import path_pattern
from .error import PlanError
from .parameters import Parameter

CONVENTIONAL = ("layer", "embed", "heads", "mlp", "vocab")
"""Logical axes that every dense model has; one that the contract does not map is replicated."""

Spec = tuple[tuple[str, ...], ...]
"""For each dimension the mesh axes it is split over, outermost first."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A parameter with the logical and mesh axes of each dimension, and the contract key that says so."""

    parameter: Parameter
    logical: tuple[str | None, ...]
    spec: Spec
    key: str


def matching_rule(rules: list[ParameterRule], path: str) -> tuple[int, ParameterRule] | None:
    """The first rule whose pattern matches the end of the path at a `/` boundary. Raises PlanError for a bad
    pattern."""
    for index, rule in enumerate(rules):
        try:
            if path_pattern(rule.match).matches(path):
                return index, rule
        except ValueError as error:
            raise PlanError(f"parameters.rules[{index}].match", str(error)) from error
    return None


def place_parameter(parameter: Parameter, contract: Contract, mesh: MeshSection) -> Placement:
    """The placement of one parameter: the first matching rule, else the conventional logical axes of the model.

    Raises PlanError where neither exists, a rule has another rank, an axis is unknown or used twice, or does not
    divide.
    """
    if contract.parameters is None:
        raise PlanError("parameters", "the section is missing, so no parameter has a placement")
    match = matching_rule(contract.parameters.rules, parameter.path)
    if match is not None:
        index, rule = match
        logical, key = tuple(rule.axes), f"parameters.rules[{index}].axes"
        if len(logical) != len(parameter.dims):
            raise PlanError(key, f"{len(logical)} axes for `{parameter.path}` of rank {len(parameter.dims)}")
    elif parameter.axes:
        logical, key = parameter.axes, "parameters.logical_axes"
    elif not parameter.dims:
        logical, key = (), "parameters.rules"
    else:
        raise PlanError("parameters.rules", f"no rule matches `{parameter.path}`")
    mapping = contract.parameters.logical_axes
    spec = tuple(_mesh_axes(axis, mapping, mesh, key) for axis in logical)
    check_spec(parameter.path, parameter.shape, spec, mesh, key)
    return Placement(parameter, logical, spec, key)


def _mesh_axes(axis: str | None, mapping: dict, mesh: MeshSection, key: str) -> tuple[str, ...]:
    if axis is None:
        return ()
    if axis in mapping:
        return as_axes(mapping[axis])
    if axis in mesh.axes:
        return (axis,)
    if axis in CONVENTIONAL:
        return ()
    raise PlanError(key, f"`{axis}` is neither a logical axis of the contract nor an axis of the mesh")


def check_spec(what: str, shape: tuple[int, ...], spec: Spec, mesh: MeshSection, key: str) -> None:
    """Raises PlanError where an axis is not in the mesh, is used twice in one array, or does not divide its
    dimension."""
    seen: set[str] = set()
    for size, axes in zip(shape, spec, strict=True):
        for axis in axes:
            if axis not in mesh.axes:
                raise PlanError(key, f"`{axis}` is not an axis of the mesh ({', '.join(mesh.axes)})")
            if axis in seen:
                raise PlanError(key, f"`{what}` would be split over `{axis}` twice")
            seen.add(axis)
        ways = prod(mesh.axes[axis] for axis in axes)
        if size % ways:
            raise PlanError(
                key, f"`{what}` has a dimension of {size}, which is not divisible by {ways} (axes {', '.join(axes)})"
            )


def local_shape(shape: tuple[int, ...], spec: Spec, mesh: MeshSection) -> tuple[int, ...]:
    """The shape of one device's shard."""
    return tuple(size // prod(mesh.axes[axis] for axis in axes) for size, axes in zip(shape, spec, strict=True))
