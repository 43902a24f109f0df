"""Every array that enters or leaves a step, with the placement the compiled program gives it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, Sharding, SingleDeviceSharding

from ..contracts.manifest import Leaf
from .step import NormalisedStep

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# Flax variables are pytrees of one leaf under this attribute; it says nothing to a reader.
_BOXES = ("value", "raw_value")


@dataclass(frozen=True, slots=True)
class LeafName:
    """Which argument an array belongs to, and its pytree path below it."""

    argument: str
    path: str


def static_arguments(step: NormalisedStep, traced: Any) -> tuple[str, ...]:
    """The static arguments of the step; for a function that came already jitted, those the trace left out."""
    positional, keywords = traced.args_info
    missing = len(step.args) - len(positional)
    gone = tuple(name for name in step.kwargs if name not in keywords)
    if missing <= 0:
        return gone
    debug_info = getattr(getattr(traced.jaxpr, "jaxpr", traced.jaxpr), "debug_info", None)
    seen = {
        match[0] for name in getattr(debug_info, "arg_names", None) or () if (match := _IDENTIFIER.match(name or ""))
    }
    declared = [name for name in step.positional_names if name in step.static]
    candidates = declared + [
        name
        for name, value in zip(step.positional_names, step.args, strict=True)
        if name not in seen and name not in declared and jax.tree.leaves(value)
    ]
    return tuple(name for name in step.positional_names if name in candidates[:missing]) + gone


def argument_leaves(step: NormalisedStep, traced: Any) -> tuple[list[LeafName], list[Any]]:
    """Names of the trace's flat inputs, and the leaves the step gave for them (None where they cannot be matched)."""
    static = static_arguments(step, traced)
    names = [name for name in step.positional_names if name not in static]
    args = tuple(a for name, a in zip(step.positional_names, step.args, strict=True) if name not in static)
    kwargs = {name: value for name, value in step.kwargs.items() if name not in static}
    infos = jax.tree_util.tree_flatten_with_path(traced.args_info)[0]
    given = jax.tree_util.tree_flatten_with_path((args, kwargs))[0]
    if [np.shape(leaf) for _, leaf in given] == [tuple(info.shape) for _, info in infos]:
        return _names([path for path, _ in given], names), [leaf for _, leaf in given]
    return _names([path for path, _ in infos], names), [None] * len(infos)


def _names(paths: Sequence[Sequence[Any]], positional: Sequence[str]) -> list[LeafName]:
    """Paths that start with (0, position) or (1, keyword) as argument and path."""
    found: list[LeafName] = []
    for path in paths:
        head = key_name(path[1])
        argument = positional[int(head)] if key_name(path[0]) == "0" and int(head) < len(positional) else head
        found.append(LeafName(argument, joined(path[2:])))
    if len(set(found)) < len(found):
        return [LeafName(name.argument, joined(path[2:], unbox=False)) for name, path in zip(found, paths, strict=True)]
    return found


def key_name(key: Any) -> str:
    """One step of a pytree path as plain text."""
    for attribute in ("key", "idx", "name"):
        value = getattr(key, attribute, None)
        if value is not None:
            return str(value)
    return str(key).strip(".[]'\"")


def joined(path: Iterable[Any], unbox: bool = True) -> str:
    """A pytree path joined with `/`."""
    keys = list(path)
    if unbox and len(keys) > 1 and getattr(keys[-1], "name", None) in _BOXES:
        keys.pop()
    return "/".join(key_name(key) for key in keys)


def output_names(step: NormalisedStep, traced: Any, wrapped: bool, arguments: Sequence[LeafName]) -> list[LeafName]:
    """Paths of the trace's flat outputs. `wrapped`: nnx.jit returns (arguments, keywords, output).

    The arguments it hands back are named as they went in (`arguments`), below the name of the argument.
    """
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(traced.out_info)[0]]
    if not wrapped:
        return [LeafName("", joined(path)) for path in paths]
    found: list[LeafName] = []
    going_in = {name: iter([a for a in arguments if a.argument == name]) for name in step.positional_names}
    for path in paths:
        position = int(key_name(path[1])) if key_name(path[0]) == "0" and key_name(path[1]).isdecimal() else -1
        if 0 <= position < len(step.args):
            name = step.positional_names[position]
            same = next(going_in[name], None)
            found.append(LeafName("", f"{name}/{same.path if same else joined(path[2:])}".rstrip("/")))
        else:
            found.append(LeafName("", joined(path[1:])))
    return found


def asked_spec(leaf: Any, ndim: int) -> list[list[str]] | None:
    """The placement an argument carried, where it is a named one."""
    sharding = getattr(leaf, "sharding", None)
    return _named_spec(sharding, ndim) if isinstance(sharding, NamedSharding) else None


def spec_of(sharding: Sharding | None, shape: Sequence[int], mesh: Mesh | None) -> list[list[str]] | None:
    """Mesh axes for each dimension; None where the placement is no split along mesh axes."""
    if isinstance(sharding, NamedSharding):
        return _named_spec(sharding, len(shape))
    if isinstance(sharding, SingleDeviceSharding) or (sharding is not None and sharding.is_fully_replicated):
        return [[] for _ in shape]
    if sharding is None or mesh is None:
        return None
    return _spec_by_devices(sharding, shape, mesh)


def _named_spec(sharding: NamedSharding, ndim: int) -> list[list[str]]:
    entries = [*sharding.spec, *([None] * (ndim - len(sharding.spec)))]
    return [[str(a) for a in e] if isinstance(e, tuple) else [e] if isinstance(e, str) else [] for e in entries[:ndim]]


def _spec_by_devices(sharding: Sharding, shape: Sequence[int], mesh: Mesh) -> list[list[str]] | None:
    """Read the axes off the device assignment: the shard index along a dimension is a mixed-radix number whose digits
    are mesh coordinates, so each axis has one stride and the axes of a dimension go from the largest stride down."""
    where = sharding.devices_indices_map(tuple(shape))
    local = sharding.shard_shape(tuple(shape))
    if set(where) != set(mesh.devices.flat):
        return None
    spec: list[list[str]] = []
    for dimension, size in enumerate(local):
        index = np.empty(mesh.devices.shape, dtype=np.int64)
        for position, device in np.ndenumerate(mesh.devices):
            index[position] = (where[device][dimension].start or 0) // max(size, 1)
        strides: dict[str, int] = {}
        linear = np.zeros_like(index)
        for axis, name in enumerate(mesh.axis_names):
            if mesh.devices.shape[axis] < 2:
                continue
            unit = tuple(int(i == axis) for i in range(index.ndim))
            strides[name] = int(index[unit])
            linear += (
                np.arange(index.shape[axis]).reshape([-1 if i == axis else 1 for i in range(index.ndim)])
                * strides[name]
            )
        if not np.array_equal(linear, index):
            return None
        spec.append(sorted((a for a, stride in strides.items() if stride), key=lambda a: -strides[a]))
    return spec


def physical(aval: Any) -> tuple[tuple[int, ...], int]:
    """Shape and bytes of one element as the program stores it: a PRNG key is an array of uint32 words."""
    if jnp.issubdtype(aval.dtype, jax.dtypes.extended):
        words = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        return tuple(words.shape), np.dtype(words.dtype).itemsize
    return tuple(aval.shape), np.dtype(aval.dtype).itemsize


def make_leaf(name: LeafName, aval: Any, sharding: Sharding | None, mesh: Mesh | None, **facts: Any) -> Leaf:
    """One row: `aval` has shape, dtype and weak_type; `sharding` is the compiled program's, None if it has none."""
    shape = tuple(int(n) for n in aval.shape)
    local = tuple(sharding.shard_shape(shape)) if sharding is not None else None
    stored, itemsize = physical(aval)
    size = None if local is None else math.prod(local) * math.prod(stored[len(shape) :]) * itemsize
    return Leaf(
        argument=name.argument,
        path=name.path,
        shape=list(shape),
        dtype=str(aval.dtype),
        weak_type=bool(getattr(aval, "weak_type", False)),
        spec=spec_of(sharding, shape, mesh),
        local_shape=None if local is None else [int(n) for n in local],
        bytes=size,
        host=getattr(sharding, "memory_kind", None) == "pinned_host",
        **facts,
    )


def indivisible_argument(step: NormalisedStep) -> str | None:
    """The first argument whose placement does not divide its shape, in words."""
    for argument, value in zip(step.argument_names, (*step.args, *step.kwargs.values()), strict=True):
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            spec = asked_spec(leaf, len(getattr(leaf, "shape", ())))
            sizes = leaf.sharding.mesh.shape if spec is not None else {}
            for dimension, axes in enumerate(spec or ()):
                parts = math.prod(sizes[axis] for axis in axes)
                if leaf.shape[dimension] % parts:
                    name = "/".join(filter(None, [argument, joined(path)]))
                    return (
                        f"dimension {dimension} of `{name}` has size {leaf.shape[dimension]}, "
                        f"which its {parts} parts over {' x '.join(axes)} do not divide"
                    )
    return None


def program_mesh(leaves: Iterable[Any]) -> Mesh | None:
    """The mesh over which the first named sharding among arrays, structs or shardings lives."""
    for leaf in leaves:
        sharding = leaf if isinstance(leaf, Sharding) else getattr(leaf, "sharding", None)
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
            return sharding.mesh
    return None
