"""k steps as a training loop would run them, under watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from ...contracts.manifest import CompileEvent, TransferEvent
from ..frames import FramePaths
from ..request import StepFailure
from ..step import NormalisedStep
from ..watch import Compile, Watch, watch
from ..watch.transfers import quiet
from .draw import Range, draw
from .evaluate import split_outputs
from .example import example_of
from .functions import context_of, in_place
from .signature import Signature, explain, signature
from .values import place

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
MAX_TRANSFERS = 1000


class Loop:
    """Runs the step and keeps what was seen. After an exception the events up to it are still there."""

    def __init__(self, step: NormalisedStep, mesh: Mesh | None, paths: FramePaths, ranges: Mapping[str, Range]) -> None:
        self.step = step
        self.mesh = mesh
        self.paths = paths
        self.ranges = ranges
        self.compiles: list[CompileEvent] = []
        self.transfers: list[TransferEvent] = []
        self.losses: list[float] = []
        self.odd_losses: list[int] = []
        self._name = getattr(step.jitted, "__name__", None) or getattr(step.fn, "__name__", None)
        self._calls: list[Signature] = []

    def arguments(self, index: int) -> Arguments:
        """Concrete arguments of loop step `index`, before anything is carried over.

        Raises StepFailure where `example` returns something else than (args, kwargs).
        """
        if self.step.example is None:
            return place(self.step, draw(self.step, index, self.ranges), self.mesh)
        args, kwargs = example_of(self.step, index, self.paths)
        return self._placed(args, kwargs)

    def _placed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Arrays of the example that lie nowhere in particular, put where the step's own arguments say."""

        def put(declared: Any, given: Any) -> Any:
            sharding = getattr(declared, "sharding", None) if isinstance(declared, jax.ShapeDtypeStruct) else None
            loose = isinstance(given, np.ndarray) or (isinstance(given, jax.Array) and not given.committed)
            return jax.device_put(given, sharding) if sharding is not None and loose else given

        def one(name: str, declared: Any, given: Any) -> Any:
            same = jax.tree.structure(declared) == jax.tree.structure(given)
            return jax.tree.map(put, declared, given) if same and name not in self.step.static else given

        step = self.step
        named = zip(step.positional_names, step.args, args, strict=True)
        return tuple(one(*each) for each in named), {k: one(k, step.kwargs.get(k), v) for k, v in kwargs.items()}

    def run(self, first: Arguments, steps: int) -> None:
        """Run `steps` steps. `first` are the arguments of step 0; their donated buffers are gone afterwards."""
        args, kwargs = first
        out: Any = None
        with context_of(self.step), watch(self.paths) as seen:
            try:
                for index in range(steps):
                    if index:
                        changed = in_place(self.step, args, kwargs)
                        args, kwargs = self._next(index, out, changed)
                    seen.step(index)
                    out = self._call(index, args, kwargs, seen)
            finally:
                self.transfers = [t.as_event() for t in seen.transfers[:MAX_TRANSFERS]]

    def _call(self, index: int, args: Sequence[Any], kwargs: Mapping[str, Any], seen: Watch) -> Any:
        now = signature(self.step, args, kwargs)
        start = len(seen.compiles), len(seen.transfers)
        out = self.step.jitted(*args, **kwargs)
        with quiet():
            jax.block_until_ready(out)
            jax.effects_barrier()  # callbacks of this step carry its index
        events = seen.compiles[start[0] :]
        named = [event for event in events if event.name == self._name]
        if not named and not self._calls and events:
            # A wrapper hides the function's own name: its program is the last to be built.
            self._name, named = events[-1].name, events[-1:]
        self.compiles += [self._event(event, index, now) for event in named]
        self._calls.append(now)
        self._keep_loss(index, out)
        return out

    def _event(self, event: Compile, index: int, now: Signature) -> CompileEvent:
        argument, reason = explain(now, self._calls)
        if not self._calls:
            reason = "first call"
        frame = self.paths.of_function(self.step.fn)
        return CompileEvent(
            index=index,
            reason=reason or event.reason,
            argument=argument or (event.argument if self._calls else None),
            frames=list(event.frames) or ([frame] if frame else []),
        )

    def _next(self, index: int, out: Any, changed: Mapping[str, Any]) -> Arguments:
        """The arguments of the next step: new ones, the carried ones replaced by outputs; `changed` are used again."""
        with quiet():
            args, kwargs = self.arguments(index)
        outputs = out if isinstance(out, tuple | list) else (out,)
        args = [changed.get(name, value) for name, value in zip(self.step.positional_names, args, strict=True)]
        kwargs = {name: changed.get(name, value) for name, value in kwargs.items()}
        for position, name in self.step.carry.items():
            if position >= len(outputs):
                raise StepFailure(
                    f"the step carries output {position} over to `{name}`, but returns {len(outputs)} outputs",
                    help="give the step `carry`: {output position: argument name}",
                )
            place_in: Any = kwargs if name in kwargs else args
            key: Any = name if name in kwargs else self.step.positional_names.index(name)
            old, new = (jax.tree.structure(tree) for tree in (place_in[key], outputs[position]))
            if old != new:
                raise StepFailure(
                    f"output {position} cannot replace the argument `{name}` in the next step: "
                    f"its structure is {_short(new)}, the argument's {_short(old)}",
                    help="give the step `carry`: {output position: argument name}, or {} where nothing is carried over",
                )
            place_in[key] = outputs[position]
        return tuple(args), kwargs

    def _keep_loss(self, index: int, out: Any) -> None:
        values, _ = split_outputs(self.step, out, only_loss=True)
        for (role, _), value in values.items():
            if role == "loss" and value.size == 1:
                number = float(value.astype(np.float64).reshape(()))
                if np.isfinite(number):
                    self.losses.append(number)
                else:
                    self.odd_losses.append(index)
                return


def _short(tree: Any) -> str:
    text = str(tree).removeprefix("PyTreeDef(").removesuffix(")")
    return text if len(text) <= 160 else text[:157] + "..."
