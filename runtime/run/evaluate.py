"""One step, evaluated once on given values: loss, gradients, metrics and first moments as host arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from ..carry import settled
from ..frames import FramePaths
from ..leaves import joined, key_name
from ..step import NormalisedStep
from ..watch.transfers import quiet
from .compare import LongestSum, Role, roundoff_of
from .functions import ValueFunctions, context_of, in_place
from .narrow import narrow_arithmetic, product_dtype
from .sums import longest_sum, own_sum
from .values import HostValue, key_of, place

FIRST_MOMENTS = frozenset({"mu", "trace", "momentum", "first_moment", "exp_avg"})
SECOND_MOMENTS = frozenset({"nu", "second_moment", "exp_avg_sq", "v_row", "v_col"})
METRIC_MAX = 1 << 20
OUTPUT = "output"
"""What a step returns that returns one array."""


@dataclass(slots=True)
class Evaluation:
    """`values`: (role, path) -> array. `not_judged`: what else the step returned, by kind -> number of arrays.

    `narrow`: for each of the functions `loss_and_grads` and `fn` the first arithmetic below float64 in it, if any.
    `product`: the dtype of the matrix products (the narrowest), of which the bound takes the roundoff. `longest`: the
    longest sum behind each loss and metric, and the one that each gradient and first moment is.
    """

    values: dict[tuple[Role, str], np.ndarray] = field(default_factory=dict)
    moved: list[dict[tuple[Role, str], np.ndarray]] = field(default_factory=list)
    not_judged: dict[str, int] = field(default_factory=dict)
    narrow: dict[str, str | None] = field(default_factory=dict)
    product: str = "float32"
    longest: dict[tuple[Role, str], LongestSum] = field(default_factory=dict)


def evaluate(
    step: NormalisedStep,
    values: Mapping[str, HostValue],
    mesh: Mesh | None,
    paths: FramePaths,
    *,
    wide: bool = False,
    moves: int = 0,
) -> Evaluation:
    """Run `loss_and_grads` (if the step has it) and the step itself on `values`.

    wide: floating values as float64. moves: so many further runs with every floating input moved by a relative u, see
    `compare`. Exceptions of user code and of JAX pass through.
    """
    result = Evaluation()
    step = settled(step)
    with context_of(step):
        functions = ValueFunctions(step)
        args, kwargs = place(step, values, mesh, wide)
        jaxprs = functions.jaxprs(args, kwargs)
        result.narrow = {name: narrow_arithmetic(jaxpr, paths) for name, jaxpr in jaxprs.items()}
        result.product = product_dtype(next(iter(jaxprs.values())))
        result.values, result.not_judged, outputs = _outputs(step, functions, args, kwargs)
        for key, (name, position) in outputs.items():
            behind = own_sum if key[0] in ("gradient", "first_moment") else longest_sum
            result.longest[key] = behind(jaxprs[name], position)
        for index in range(moves):
            shifted = moved(values, roundoff_of(jnp.dtype(result.product)), index)
            result.moved.append(_outputs(step, functions, *place(step, shifted, mesh, wide))[0])
    return result


def moved(values: Mapping[str, HostValue], roundoff: float, index: int) -> dict[str, HostValue]:
    """Every floating input times 1 + 2 u e, e uniform in [-1, 1]. Arrays of whole numbers (masks, counters) stay."""
    rng = np.random.default_rng((20_261_129, index))
    result: dict[str, HostValue] = {}
    for name, value in values.items():
        if value.floating and value.array.size and not _whole(value.array):
            wide = value.array.astype(np.float64)
            shifted = wide * (1 + 2 * roundoff * rng.uniform(-1, 1, size=wide.shape))
            value = HostValue(shifted.astype(value.array.dtype), spec=value.spec)
        result[name] = value
    return result


def _whole(array: np.ndarray) -> bool:
    wide = array.astype(np.float64)
    return bool(np.all(wide == np.round(wide)))


def _outputs(
    step: NormalisedStep, functions: ValueFunctions, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[dict[tuple[Role, str], np.ndarray], dict[str, int], dict[tuple[Role, str], tuple[str, int]]]:
    """(values to judge, kind -> number of what is not judged, value -> function and flat output it is).

    Outputs count from the last, -1: what `nnx.jit` hands back beside them stands before.
    """
    found: dict[tuple[Role, str], np.ndarray] = {}
    other: dict[str, int] = {}
    outputs: dict[tuple[Role, str], tuple[str, int]] = {}
    returned, out = functions(args, kwargs)
    if returned is not None:
        loss, grads = returned
        found["loss", "loss"] = _host(loss)
        outputs["loss", "loss"] = "loss_and_grads", -len(jax.tree.leaves(returned))
        flat = jax.tree_util.tree_flatten_with_path(grads)[0]
        for position, (path, leaf) in enumerate(flat):
            if leaf.dtype == jax.dtypes.float0:
                other["gradients of integers"] = other.get("gradients of integers", 0) + 1
            else:
                found["gradient", joined(path)] = _host(leaf)
                outputs["gradient", joined(path)] = "loss_and_grads", position - len(flat)
    judged, more = split_outputs(step, out)
    other |= more
    leaves = jax.tree_util.tree_flatten_with_path(out)[0]
    positions = {joined(path) or OUTPUT: position - len(leaves) for position, (path, _) in enumerate(leaves)}
    in_state = {_in_state(path, out): position - len(leaves) for position, (path, _) in enumerate(leaves)}
    for (role, path), value in judged.items():
        key = role, f"fn/{path}" if (role, path) in found else path
        found[key] = value
        outputs[key] = "fn", (in_state if role == "first_moment" else positions)[path]
    for name, value in in_place(step, args, kwargs).items():
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            kind = _state_kind(path, leaf)
            if kind is None:
                found["first_moment", key_of(name, joined(path))] = _host(leaf)
            else:
                other[kind] = other.get(kind, 0) + 1
    return found, other, outputs


def split_outputs(
    step: NormalisedStep, out: Any, only_loss: bool = False
) -> tuple[dict[tuple[Role, str], np.ndarray], dict[str, int]]:
    """(values to judge, kind -> number of what is not judged) of one result of the step."""
    found: dict[tuple[Role, str], np.ndarray] = {}
    other: dict[str, int] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(out)[0]:
        position = int(key_name(path[0])) if isinstance(out, tuple | list) and path else 0
        name = joined(path) or OUTPUT
        if position in step.carry or jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
            if only_loss:
                continue
            kind = _state_kind(path, leaf)
            if kind is None:
                found["first_moment", _in_state(path, out)] = _host(leaf)
                continue
        elif leaf.size <= METRIC_MAX:
            # `loss`, or `learning/loss` as a logger wants it.
            is_loss = (path and key_name(path[-1]).lower().rpartition("/")[2] == "loss") or _lone(step, out)
            if is_loss or not only_loss:
                found["loss" if is_loss else "metric", name] = _host(leaf)
            continue
        else:
            kind = "large outputs"
        other[kind] = other.get(kind, 0) + 1
    return found, other


def _in_state(path: Sequence[Any], out: Any) -> str:
    """The path of a leaf within what is carried on."""
    return joined(path[1:] if isinstance(out, tuple | list) else path)


def _state_kind(path: Sequence[Any], leaf: Any) -> str | None:
    """What a leaf of the state is, as reports call what is not judged; None for a first moment, which is."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
        return "PRNG keys"
    if not jnp.issubdtype(leaf.dtype, jnp.floating):
        return "counters"
    parts = {key_name(key) for key in path}
    if parts & FIRST_MOMENTS:
        return None
    return "second moments" if parts & SECOND_MOMENTS else "parameters and other floating state"


def _lone(step: NormalisedStep, out: Any) -> bool:
    """Whether all the step returns beside its state is one scalar: then that is the loss."""
    entries = out if isinstance(out, tuple | list) else [out]
    rest = [leaf for i, entry in enumerate(entries) if i not in step.carry for leaf in jax.tree.leaves(entry)]
    return len(rest) == 1 and rest[0].size == 1


def _host(leaf: Any) -> np.ndarray:
    """The value on the host; a complex one as its real and imaginary parts."""
    with quiet():
        array = np.array(leaf)
    return np.stack([np.real(array), np.imag(array)], axis=-1) if np.iscomplexobj(array) else array
