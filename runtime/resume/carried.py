"""Any step as a run that can be stopped: batch i is `example(i)` (or drawn), what is carried over is the state, and
Orbax saves it. For steps that bring no `resumable` of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from ..carry import settled
from ..leaves import joined
from ..request import StepFailure
from ..run.functions import context_of
from ..run.loop import Arguments, Loop
from ..step import NormalisedStep
from .hook import is_key, words

ITEM = "state"


class Carried:
    """The hook of `Step.resumable` for a step that has none."""

    def __init__(self, step: NormalisedStep, loop: Loop, folder: str) -> None:
        self._step, self._loop = settled(step), loop
        self._names = [name for name in step.argument_names if name in set(self._step.carry.values())]
        if not self._names:
            raise StepFailure(
                "the step carries nothing over to the next one, so there is nothing to save",
                help="give the step `carry`: {output position: argument name}, or a `resumable(folder)` of its own",
            )
        options = ocp.CheckpointManagerOptions(cleanup_tmp_directories=True)
        self._manager = ocp.CheckpointManager(Path(folder), options=options, item_names=(ITEM,))
        self._done = 0
        self._state = self._picked(loop.arguments(0))

    def restore(self) -> int:
        number = self._manager.latest_step()
        if number is not None:
            wanted = jax.tree.map(ocp.utils.to_shape_dtype_struct, _plain(self._state))
            args = ocp.args.Composite(**{ITEM: ocp.args.StandardRestore(wanted)})
            self._state = _filled(self._state, self._manager.restore(number, args=args)[ITEM])
            self._done = number
        return self._done

    def arguments(self) -> Arguments:
        args, kwargs = self._loop.arguments(self._done)
        named = dict(zip(self._step.positional_names, args, strict=True)) | kwargs | self._state
        return tuple(named[name] for name in self._step.positional_names), {name: named[name] for name in kwargs}

    def advance(self) -> Mapping[str, Any]:
        args, kwargs = self.arguments()
        named = {**dict(zip(self._step.positional_names, args, strict=True)), **kwargs}
        given = {name: value for name, value in named.items() if name not in (*self._names, *self._step.static)}
        given = jax.device_get(_plain(given))  # donated buffers are gone afterwards
        with context_of(self._step):
            out = self._step.jitted(*args, **kwargs)
        outputs = out if isinstance(out, tuple | list) else (out,)
        self._state = {name: outputs[position] for position, name in self._step.carry.items()}
        self._done += 1
        rest = [value for position, value in enumerate(outputs) if position not in self._step.carry]
        return {**_named(rest), "batch": given}

    def state(self) -> Any:
        return _plain(self._state)

    def save(self) -> None:
        args = ocp.args.Composite(**{ITEM: ocp.args.StandardSave(_plain(self._state))})
        self._manager.save(self._done, args=args, force=True)

    def wait(self) -> None:
        self._manager.wait_until_finished()

    def _picked(self, arguments: Arguments) -> dict[str, Any]:
        args, kwargs = arguments
        named = dict(zip(self._step.positional_names, args, strict=True)) | kwargs
        return {name: named[name] for name in self._names}


def _named(outputs: list[Any]) -> dict[str, Any]:
    """What a step returns beside its state: by name where it has names, small arrays alone."""
    leaves = jax.tree_util.tree_flatten_with_path(outputs[0] if len(outputs) == 1 else outputs)[0]
    return {joined(path) or "output": leaf for path, leaf in leaves if getattr(leaf, "size", 0) == 1}


def _plain(tree: Any) -> dict[str, Any]:
    """A tree as nested dicts of arrays: what any reader of a checkpoint understands. Random keys as their words."""
    found: dict[str, Any] = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        *above, last = joined(path).split("/")
        inner = found
        for name in above:
            inner = inner.setdefault(name, {})
        inner[last] = words(leaf) if isinstance(leaf, jax.Array) else np.asarray(leaf)
    return found


def _filled(tree: Any, plain: Mapping[str, Any]) -> Any:
    """The tree with the arrays of `plain`. What was bound to no devices is bound to none again: Orbax restores it onto
    those where it happened to lie, and a program over others refuses it there."""

    def one(path: Any, leaf: Any) -> Any:
        value: Any = plain
        for name in joined(path).split("/"):
            value = value[name]
        if not isinstance(leaf, jax.Array) or not leaf.committed:
            value = jnp.asarray(jax.device_get(value))
        return jax.random.wrap_key_data(value, impl=jax.random.key_impl(leaf)) if is_key(leaf) else value

    return jax.tree_util.tree_map_with_path(one, tree)
