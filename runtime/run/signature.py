"""What `jax.jit` distinguishes in a call, and which argument made one call another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from ..apart import Held, is_held
from ..leaves import joined
from ..step import NormalisedStep
from .values import key_of


@dataclass(frozen=True, slots=True)
class Seen:
    """One leaf of a call. `kind` always decides about a new program; `value` only where the argument is static."""

    kind: str
    placement: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """One call: a `Seen` for every leaf, and the pytree structure of every argument."""

    leaves: dict[str, Seen]
    trees: dict[str, Any]


def signature(step: NormalisedStep, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Signature:
    """The signature of a call of the step. Arguments may be concrete or abstract."""
    leaves: dict[str, Seen] = {}
    trees: dict[str, Any] = {}
    for argument, value in [*zip(step.positional_names, args, strict=False), *kwargs.items()]:
        flat, trees[argument] = jax.tree_util.tree_flatten_with_path(value, is_leaf=is_held)
        for path, leaf in flat:
            leaves[key_of(argument, joined(path))] = _seen(leaf, argument in step.static)
    return Signature(leaves, trees)


def explain(now: Signature, before: Sequence[Signature]) -> tuple[str | None, str | None]:
    """(argument or leaf at fault, reason) against the most similar earlier call; (None, None) where the calls agree."""
    best: list[tuple[str, str]] | None = None
    for earlier in reversed(before):
        found = _differences(now, earlier)
        if found and (best is None or len(found) < len(best)):
            best = found
    if not best:
        return None, None
    shown = [f"{name}: {change}" for name, change in best[:4]]
    more = f" (and {len(best) - 4} more)" if len(best) > 4 else ""
    return best[0][0], "; ".join(shown) + more


def _differences(now: Signature, before: Signature) -> list[tuple[str, str]]:
    found = [
        (name, f"pytree {before.trees[name]} before, {tree} now"[:400])
        for name, tree in now.trees.items()
        if name in before.trees and tree != before.trees[name]
    ]
    found += [(name, "passed now, not before") for name in now.trees if name not in before.trees]
    found += [(name, "passed before, not now") for name in before.trees if name not in now.trees]
    common = [(name, before.leaves[name], seen) for name, seen in now.leaves.items() if name in before.leaves]
    found += [(name, f"{old.kind} before, {new.kind} now") for name, old, new in common if old.kind != new.kind]
    if not found:
        found = [
            (name, f"{old.placement} before, {new.placement} now")
            for name, old, new in common
            if old.placement != new.placement
        ]
    if not found:
        # Values matter only if an argument is static; where nothing else differs, one that changed must be.
        found = [
            (name, f"static value {old.value} before, {new.value} now")
            for name, old, new in common
            if old.value != new.value
        ]
    return found


def _seen(leaf: Any, static: bool) -> Seen:
    if isinstance(leaf, Held):
        return _seen(leaf.value, static=True)
    if static:
        return Seen(f"static {type(leaf).__name__}", "", _short(leaf))
    if isinstance(leaf, bool | int | float | complex):
        return Seen(f"{_type(leaf)} (a Python {type(leaf).__name__})", "", _short(leaf))
    if not hasattr(leaf, "dtype"):
        return Seen(type(leaf).__name__, "", _short(leaf))
    return Seen(_type(leaf), _placement(leaf))


def _type(leaf: Any) -> str:
    aval = jax.typeof(leaf) if not isinstance(leaf, jax.ShapeDtypeStruct) else leaf
    dtype = str(aval.dtype)
    weak = " weakly typed" if getattr(aval, "weak_type", False) else ""
    return f"{dtype}[{','.join(str(n) for n in aval.shape)}]{weak}"


def _placement(leaf: Any) -> str:
    if not getattr(leaf, "committed", isinstance(leaf, jax.ShapeDtypeStruct)):
        return "placed nowhere in particular"
    sharding = getattr(leaf, "sharding", None)
    if sharding is None:
        return "placed nowhere in particular"
    spec = getattr(sharding, "spec", None)
    if spec is None:
        return f"placed by {type(sharding).__name__} on {len(sharding.device_set)} devices"
    mesh = ", ".join(f"{name}={size}" for name, size in sharding.mesh.shape.items())
    return f"placed {tuple(spec)} on mesh ({mesh})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
