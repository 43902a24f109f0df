"""Arguments that hold more than arrays, such as Equinox modules with their functions and flags.

`jax.jit` refuses a pytree with a function among its leaves; `equinox.filter_jit` traces the arrays of all arguments and
keeps everything else static. Here the same is done with plain JAX: every other leaf becomes a `Held`, a node without
leaves, so it is part of the tree's structure. `jit` then compiles anew exactly where one of them changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from .request import StepFailure


@jax.tree_util.register_static
@dataclass(frozen=True, slots=True)
class Held:
    """A leaf that is no array. Two are the same where their values are equal."""

    value: Any


@dataclass(frozen=True, slots=True)
class Filtered:
    """What an `equinox.filter_jit` wrapper was given: the function, and which arguments it donates."""

    fn: Callable[..., Any]
    donate_first: bool
    donate_rest: bool


def filtered(fn: Any) -> Filtered | None:
    """Read an Equinox wrapper, without importing Equinox; None for any other function."""
    kind = type(fn)
    if kind.__module__.partition(".")[0] != "equinox" or not hasattr(fn, "lower"):
        return None
    inner = getattr(fn, "__wrapped__", None)
    first, rest = getattr(fn, "donate_first", None), getattr(fn, "donate_rest", None)
    if not callable(inner) or first is None or rest is None:
        raise StepFailure(
            f"the step's `fn` is an `{kind.__module__}.{kind.__name__}` of a version that cannot be read here",
            help="give the function before `filter_jit`, and name in `donate` what it donates",
        )
    return Filtered(inner, bool(first), bool(rest))


def unfiltered(fn: Any) -> Any:
    """The function below `equinox.filter_jit`; any other as it is."""
    found = filtered(fn)
    return fn if found is None else found.fn


def is_array(leaf: Any) -> bool:
    """An array or its abstract stand-in."""
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def holds_objects(tree: Any) -> bool:
    """Whether some leaf is nothing that `jax.jit` takes: neither an array nor a number."""
    return not all(is_array(leaf) or isinstance(leaf, bool | int | float | complex) for leaf in jax.tree.leaves(tree))


def no_arrays(tree: Any) -> bool:
    """Whether there are leaves, and none is an array."""
    leaves = jax.tree.leaves(tree)
    return bool(leaves) and not any(map(is_array, leaves))


def apart(tree: Any, always: bool = False) -> Any:
    """The tree with every leaf that is no array held; a tree that `jax.jit` takes as it is stays, unless `always`.

    Raises StepFailure for a leaf that cannot be compared.
    """
    return jax.tree.map(_held, tree) if always or holds_objects(tree) else tree


def together(tree: Any) -> Any:
    """The inverse of `apart`."""
    return jax.tree.map(lambda leaf: leaf.value if isinstance(leaf, Held) else leaf, tree, is_leaf=is_held)


def is_held(node: Any) -> bool:
    return isinstance(node, Held)


def taking_apart(fn: Callable[..., Any], always: bool) -> Callable[..., Any]:
    """`fn` for arguments that were taken apart; its outputs are too, each entry of a tuple by itself."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = together((args, kwargs))
        out = fn(*args, **kwargs)
        return type(out)(apart(each, always) for each in out) if type(out) in (tuple, list) else apart(out, always)

    return call


def example_apart(
    example: Callable[[int], Any], names: Sequence[str], static: Sequence[str], always: bool
) -> Callable[[int], Any]:
    """`example` with its arguments taken apart, except the static ones. What is no (args, kwargs) passes through."""

    def call(index: int) -> Any:
        given = example(index)
        if not isinstance(given, tuple | list) or len(given) != 2:
            return given
        args, kwargs = given
        if not isinstance(args, tuple | list) or not isinstance(kwargs, Mapping):
            return given
        named = [*zip(names, args, strict=False), *((None, each) for each in args[len(names) :])]
        return (
            tuple(value if name in static else apart(value, always) for name, value in named),
            {name: value if name in static else apart(value, always) for name, value in kwargs.items()},
        )

    return call


def _held(leaf: Any) -> Any:
    if is_array(leaf):
        return leaf
    try:
        hash(leaf)
    except TypeError:
        raise StepFailure(
            f"an argument of the step holds a {type(leaf).__name__} where an array is needed, and it cannot be hashed",
            help="make it an array, or a field that is no part of the pytree",
        ) from None
    return Held(leaf)
