"""A step's inputs as host values: drawn once, the same for the mesh, for one device and for the float64 twin."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...contracts.errors import ContractLintError
from ..leaves import joined
from ..step import NormalisedStep
from ..watch.transfers import quiet

Spec = list[list[str]]


@dataclass(frozen=True, slots=True)
class HostValue:
    """One array argument on the host.

    `array` is a numpy array, or a Python number that the step takes as such. `key` is the implementation of a PRNG key
    (`array` then holds its words). `spec` gives the mesh axes of each dimension where the value came placed.
    """

    array: Any
    key: str | None = None
    spec: Spec | None = None

    @property
    def is_python(self) -> bool:
        return not isinstance(self.array, np.ndarray)

    @property
    def floating(self) -> bool:
        return self.key is None and not self.is_python and jnp.issubdtype(self.array.dtype, jnp.floating)


def named_leaves(step: NormalisedStep, args: Iterable[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """(argument, path below it, leaf) for every leaf of the arguments that are not static."""
    found: list[tuple[str, str, Any]] = []
    for name, value in [*zip(step.positional_names, args, strict=True), *kwargs.items()]:
        if name not in step.static:
            for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
                found.append((name, joined(path), leaf))
    return found


def key_of(argument: str, path: str) -> str:
    """`state/params/w`: the name of an input leaf."""
    return f"{argument}/{path}" if path else argument


def to_host(leaf: Any) -> HostValue:
    """A concrete leaf's value. Raises ContractLintError for something that is no array and no number."""
    if isinstance(leaf, bool | int | float | complex):
        return HostValue(leaf)
    spec = None
    sharding = getattr(leaf, "sharding", None)
    if isinstance(sharding, NamedSharding):
        spec = [list(e) if isinstance(e, tuple) else [e] if isinstance(e, str) else [] for e in sharding.spec]
    with quiet():
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return HostValue(np.array(jax.random.key_data(leaf)), str(jax.random.key_impl(leaf)), spec)
        if isinstance(leaf, jax.Array | np.ndarray | np.generic):
            return HostValue(np.array(leaf), spec=spec)
    raise ContractLintError(
        f"an argument of the step holds a {type(leaf).__name__} where an array is needed to run it",
        help="give the step `example(i) -> (args, kwargs)` with concrete arrays, or declare that argument static",
    )


def host_values(step: NormalisedStep, args: Iterable[Any], kwargs: Mapping[str, Any]) -> dict[str, HostValue]:
    """Every leaf's value by its name."""
    return {key_of(argument, path): to_host(leaf) for argument, path, leaf in named_leaves(step, args, kwargs)}


def place(
    step: NormalisedStep, values: Mapping[str, HostValue], mesh: Mesh | None, wide: bool = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The step's arguments filled with `values`, where the step's own leaves (or else the values) say they live.

    Floating values are cast to the dtype of the step's leaf; with `wide` to that dtype and then to float64. Static
    arguments keep the step's values. Raises ContractLintError where a leaf has no value or another shape.
    """

    def fill(argument: str, value: Any) -> Any:
        if argument in step.static:
            return value
        leaves, tree = jax.tree_util.tree_flatten_with_path(value)
        filled = []
        for path, leaf in leaves:
            name = key_of(argument, joined(path))
            if name not in values:
                raise ContractLintError(
                    f"the step built for the comparison has an input `{name}` that the promised step has not"
                )
            filled.append(_placed(name, leaf, values[name], mesh, wide))
        return jax.tree_util.tree_unflatten(tree, filled)

    args = tuple(fill(name, value) for name, value in zip(step.positional_names, step.args, strict=True))
    return args, {name: fill(name, value) for name, value in step.kwargs.items()}


def _placed(name: str, leaf: Any, value: HostValue, mesh: Mesh | None, wide: bool) -> Any:
    if value.is_python:
        return value.array
    array = value.array
    dtype = getattr(leaf, "dtype", None)
    if value.floating:
        if dtype is not None and jnp.issubdtype(dtype, jnp.floating):
            array = array.astype(dtype)
        if wide:
            array = array.astype(np.float64)
    elif dtype is not None and value.key is None and not jnp.issubdtype(dtype, jax.dtypes.extended):
        array = array.astype(dtype)
    sharding = _sharding(leaf, value, mesh)
    if value.key is not None:
        placed = jax.random.wrap_key_data(jnp.asarray(array), impl=value.key)
    else:
        placed = array if sharding is not None else jnp.asarray(array)
    shape = getattr(leaf, "shape", None)
    if shape is not None and tuple(shape) != tuple(placed.shape):
        raise ContractLintError(
            f"`{name}` is {list(shape)} in the step built for the comparison and {list(placed.shape)} in the other",
            help="reference_args and the mesh may change dtypes and placements, not shapes",
        )
    return placed if sharding is None else jax.device_put(placed, sharding)


def _sharding(leaf: Any, value: HostValue, mesh: Mesh | None) -> Any:
    sharding = getattr(leaf, "sharding", None)
    if sharding is not None and (isinstance(leaf, jax.ShapeDtypeStruct) or getattr(leaf, "committed", False)):
        return sharding
    if value.spec is None or mesh is None or any(axis not in mesh.axis_names for entry in value.spec for axis in entry):
        return None
    return NamedSharding(mesh, PartitionSpec(*(tuple(e) if len(e) > 1 else e[0] if e else None for e in value.spec)))


def save(path: Path, values: Mapping[str, HostValue]) -> None:
    """Write values as an npz of raw bytes and one JSON table: no pickle, and any dtype that numpy does not know."""
    table: list[dict[str, Any]] = []
    members: dict[str, np.ndarray] = {}
    for index, (name, value) in enumerate(values.items()):
        row: dict[str, Any] = {"name": name, "key": value.key, "spec": value.spec}
        if value.is_python:
            row["python"] = [type(value.array).__name__, repr(value.array)]
        else:
            row |= {"dtype": value.array.dtype.name, "shape": list(value.array.shape)}
            members[f"v{index}"] = np.frombuffer(np.ascontiguousarray(value.array).tobytes(), np.uint8)
        table.append(row)
    members["table"] = np.frombuffer(json.dumps(table).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **members)  # pyright: ignore[reportArgumentType]
    path.write_bytes(buffer.getvalue())


_PYTHON: dict[str, Any] = {"bool": lambda text: text == "True", "int": int, "float": float, "complex": complex}


def load(path: Path) -> dict[str, HostValue]:
    """What `save` wrote."""
    values: dict[str, HostValue] = {}
    with np.load(path, allow_pickle=False) as members:
        for index, row in enumerate(json.loads(members["table"].tobytes())):
            if "python" in row:
                kind, text = row["python"]
                values[row["name"]] = HostValue(_PYTHON[kind](text))
                continue
            raw = members[f"v{index}"].tobytes()
            array = np.frombuffer(raw, jnp.dtype(row["dtype"])).reshape(row["shape"])
            values[row["name"]] = HostValue(array.copy(), row["key"], row["spec"])
    return values
