"""`probe`: builds the step with several numbers of microbatches and finds out what it means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding

from ...contracts.manifest import NotCompared
from ...contracts.semantics import AccumulationFact, DrawsFact, SemanticsFacts, SizesFact, UpdateFact
from .. import build
from ..carry import settled
from ..errors import describe
from ..frames import FramePaths
from ..jaxpr import needed
from ..request import StepFailure
from ..run.functions import context_of, traced_jaxpr
from ..run.loop import Loop
from ..run.narrow import narrow_arithmetic, product_dtype
from ..run.reference import widened, widened_defaults
from ..run.values import HostValue, host_values, key_of, named_leaves
from ..step import NormalisedStep
from ..targets import Target
from .accumulate import compared
from .accumulator import accumulators
from .counting import counted, uneven, with_labels
from .draws import draws
from .gradient import GradientFunction
from .inputs import Inputs, inputs_of, nudged
from .request import ProbeRequest
from .terms import TermFunctions, Vector, inner
from .update import Adam, first_update
from .watched import missed, unread, watched

ELSEWHERE = 20_261_201
"""Seed of other parameters, at which a term that depends on them has another value."""


class TooNarrow(Exception):
    """The step computes in less than float64, whatever its build arguments say."""


def probe(request: ProbeRequest, target: Target, paths: FramePaths) -> SemanticsFacts:
    """Everything that is found out about one step, in this process.

    Raises TooNarrow where float64 was asked for and the step is narrower; exceptions of user code and JAX that leave
    nothing to judge pass through.
    """
    return _Probe(request, target, paths).facts()


@dataclass
class _Probe:
    request: ProbeRequest
    target: Target
    paths: FramePaths

    def facts(self) -> SemanticsFacts:
        request, step = self.request, self.step
        missing = [name for name in ("loss_and_grads", "loss_terms") if getattr(step, name) is None]
        if missing:
            return self._nothing(f"the step has no {' and no '.join(f'`{name}`' for name in missing)}")
        jaxpr = self._jaxpr(step)
        narrow = narrow_arithmetic(jaxpr, self.paths)
        if request.wide and narrow is not None:
            raise TooNarrow
        assert step.loss_and_grads is not None
        with context_of(step):
            gradients = jax.eval_shape(step.loss_and_grads, *step.args, **step.kwargs)[1]
        inputs = inputs_of(step, gradients, request.asked.masks)
        if isinstance(inputs, str):
            return self._nothing(inputs)
        precision = "float64" if narrow is None else "float32" if product_dtype(jaxpr) == "float32" else "less"
        skipped: list[NotCompared] = []
        counts = self._counts(inputs, skipped)
        start = self._start(step)
        told = with_labels(inputs, start, request.asked.labels)
        untold = [NotCompared(what="which targets count", reason=told)] if isinstance(told, str) else []
        inputs = inputs if isinstance(told, str) else told
        values = uneven(nudged(start, inputs), inputs, counts, request.asked.order)
        parts = self._parts(step, inputs)
        devices = 1 if self.mesh is None else self.mesh.size
        reference = TermFunctions(self._built(1, self.alone), self.alone, inputs, request.wide)
        # The same program again: one for the sums alone would take longer to compile than its gradients to run.
        whole, elsewhere = reference(values), reference(nudged(values, inputs, seed=ELSEWHERE)).sums
        tokens = counted(values, inputs)
        positions = math.prod(values[inputs.mask or inputs.batch[0]].array.shape)
        found: list[AccumulationFact] = []
        promised: tuple[GradientFunction, Vector, dict[str, Vector]] | None = None
        for count in counts:
            mesh = self.mesh if (inputs.sequences // count) % parts == 0 else self.alone
            try:
                gradient = GradientFunction(self._built(count, mesh), mesh, request.wide)
                loss, vector = gradient(values)
            except Exception as error:
                skipped.append(NotCompared(what=_microbatches(count), reason=describe(error, self.paths)))
                continue
            fact, pieces = compared(
                loss,
                vector,
                count,
                1 if mesh is None else mesh.size,
                terms=reference,
                whole=whole,
                values=values,
                inputs=inputs,
                order=request.asked.order,
                parts=parts if mesh is self.mesh else 1,
                keep_pieces=count == request.asked.microbatches,
            )
            found.append(fact)
            if count == request.asked.microbatches:
                promised = gradient, vector, pieces
        update, metrics = self._update(values, start, inputs, promised, skipped)
        with jax.enable_x64(False):  # the step as it runs, not its twin
            own, drawn = self._accumulators(gradients), self._draws(values, inputs, skipped)
        return SemanticsFacts(
            precision=precision,
            mask=None if inputs.mask is None else " x ".join((inputs.mask, *inputs.weights)),
            uncounted=inputs.uncounted,
            sizes=SizesFact(
                sequences=inputs.sequences, positions=positions, tokens=tokens, parts=parts, devices=devices
            ),
            terms=whole.sums,
            elsewhere={name: each.sum for name, each in elsewhere.items()},
            accumulations=found,
            accumulators=own,
            unread=list(unread(self.args)),
            missed=list(missed(self.args)),
            metrics=metrics,
            update=update,
            draws=drawn,
            not_judged=[*skipped, *untold],
        )

    @cached_property
    def builder(self) -> Any:
        return build.load_builder(self.request.step, self.paths)

    @cached_property
    def mesh(self) -> Mesh | None:
        return None if self.request.mesh is None else build.make_mesh(self.request.mesh, self.target)

    @cached_property
    def alone(self) -> Mesh | None:
        """One device with the axes of the mesh."""
        if self.mesh is None:
            return None
        devices = self.mesh.devices.flat[0]
        return Mesh(np.array(devices).reshape((1,) * len(self.mesh.axis_names)), self.mesh.axis_names)

    @cached_property
    def step(self) -> NormalisedStep:
        """The step as promised, in the compared precision."""
        return settled(self._built(self.request.asked.microbatches, self.mesh))

    @cached_property
    def args(self) -> dict[str, Any]:
        """The build arguments in the compared precision; mappings among them notice what is read."""
        step = self.request.step
        given = {**step.args, **step.reference_args}
        wide = {**widened(given), **widened_defaults(self.builder, given)} if self.request.wide else given
        return {name: watched(value) for name, value in wide.items()}

    def _built(self, count: int, mesh: Mesh | None, **more: Any) -> NormalisedStep:
        argument = self.request.step.accumulation_arg
        args = {**self.args, **({} if argument is None else {argument: count}), **more}
        return build.call_build(self.builder, self.request.step, args, mesh, self.request.step.static)

    def _jaxpr(self, step: NormalisedStep) -> Any:
        """What loss and gradients are computed by; a metric that they do not need says nothing of their precision."""
        assert step.loss_and_grads is not None
        with context_of(step):
            return needed(traced_jaxpr(jax.jit(step.loss_and_grads), step.args, step.kwargs))

    def _nothing(self, reason: str) -> SemanticsFacts:
        return SemanticsFacts(precision="less", not_judged=[NotCompared(what="the probe", reason=reason)])

    def _start(self, step: NormalisedStep) -> dict[str, HostValue]:
        below = self.request.step.integers_below
        ranges = {} if below is None else {"*": (0.0, float(below))}
        loop = Loop(step, self.mesh, self.paths, ranges)
        return host_values(step, *loop.arguments(0))

    def _counts(self, inputs: Inputs, skipped: list[NotCompared]) -> list[int]:
        """The numbers of microbatches that the batch splits into, the promised one among them."""
        promised = self.request.asked.microbatches
        if self.request.step.accumulation_arg is None:
            skipped.append(
                NotCompared(
                    what="other numbers of microbatches",
                    reason="`accumulation.arg` does not name the build argument that sets it",
                )
            )
            return [promised]
        wanted = sorted({*self.request.asked.counts, promised})
        return [count for count in wanted if inputs.sequences % count == 0]

    def _parts(self, step: NormalisedStep, inputs: Inputs) -> int:
        """Devices that hold different rows of the batch."""
        for argument, path, leaf in named_leaves(step, step.args, step.kwargs):
            sharding = getattr(leaf, "sharding", None)
            if key_of(argument, path) in inputs.batch and isinstance(sharding, NamedSharding) and len(sharding.spec):
                entry = sharding.spec[0]
                axes = [entry] if isinstance(entry, str) else list(entry or ())
                return math.prod(sharding.mesh.shape[axis] for axis in axes)
        return 1

    def _update(
        self,
        values: Mapping[str, HostValue],
        start: Mapping[str, HostValue],
        inputs: Inputs,
        promised: tuple[GradientFunction, Vector, dict[str, Vector]] | None,
        skipped: list[NotCompared],
    ) -> tuple[UpdateFact | None, dict[str, float]]:
        """What the optimizer does with the promised gradient, built so that its clip acts where an argument sets it."""
        if promised is None:
            return None, {}
        asked, (gradient, vector, pieces) = self.request.asked, promised
        limit, step = None, settled(gradient.step)
        norm = math.sqrt(inner(vector, vector))
        if asked.clip_arg is not None and asked.clip is not None and norm <= asked.clip:
            # Below the share of at least one microbatch: a clip of each by itself acts too.
            limit = norm / (2 * asked.microbatches)
            step = settled(self._built(asked.microbatches, self.mesh, **{asked.clip_arg: limit}))
        constants = Adam(asked.b1, asked.b2, asked.eps)
        try:
            found, metrics = first_update(step, values, start, inputs, self.mesh, constants, gradient, vector, pieces)
        except StepFailure:
            raise
        except Exception as error:
            skipped.append(NotCompared(what="the update", reason=describe(error, self.paths)))
            return None, {}
        return None if found is None else found.model_copy(update={"limit": limit}), metrics

    def _accumulators(self, gradients: Any) -> list[str]:
        """Dtypes in which the step adds up the gradients of the promised number of microbatches."""
        count = self.request.asked.microbatches
        step = build.call_build(
            self.builder, self.request.step, self.request.step.args, self.mesh, self.request.step.static
        )
        shapes = [tuple(leaf.shape) for leaf in jax.tree.leaves(gradients)]
        return accumulators(self._jaxpr(step), count, shapes)

    def _draws(self, values: Mapping[str, HostValue], inputs: Inputs, skipped: list[NotCompared]) -> DrawsFact | None:
        """What the step draws with its own arguments: what turns random numbers off belongs to the twin."""
        argument, promised = self.request.step.accumulation_arg, self.request.asked.microbatches
        count = promised if promised > 1 or argument is None else 2
        args = {**self.request.step.args, **({} if argument is None else {argument: count})}
        step = settled(build.call_build(self.builder, self.request.step, args, self.mesh, self.request.step.static))
        try:
            return draws(step, values, inputs, self.mesh, count, self.request.asked.order)
        except StepFailure:
            raise
        except Exception as error:
            skipped.append(NotCompared(what="random numbers", reason=describe(error, self.paths)))
            return None


def _microbatches(count: int) -> str:
    return f"{count} microbatch{'es' * (count != 1)}"
