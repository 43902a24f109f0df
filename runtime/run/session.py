"""`run_step`: everything that `--run` finds out about one step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from ...contracts.manifest import Comparison, NotCompared, RunFacts, StepError
from ..carry import settled
from ..errors import describe, failure, recognise
from ..frames import FramePaths
from ..request import StepFailure, StepRequest
from ..step import NormalisedStep
from .compare import ONE_TERM, Runs, judge, norm2, roundoff_of
from .draw import Range
from .evaluate import Evaluation, evaluate
from .functions import context_of, traced_jaxpr
from .loop import Loop
from .narrow import equations
from .reference import ReferenceRequest, ReferenceRun, Result, temporary_folder, widened
from .values import HostValue, host_values, save

Rebuild = Callable[[Mapping[str, Any], Mesh | None], NormalisedStep]

MOVES = 2
"""Runs on moved inputs for each comparison."""
MAX_INPUT_BYTES = 4 << 30
TWIN_MAX = 1e-2
"""A float64 run farther than this (relative, all gradients together) from one device computes something else."""
DEFAULT_TIMEOUT = 900.0

_RANDOM = "the step draws random numbers, which may depend on the number of microbatches: one device uses as many"
_REASONS = {
    "parameters and other floating state": "a normalised update makes differences of any size out of rounding",
    "second moments": "squares of gradients; what makes them is compared",
    "counters": "integers of the state, the same whatever the gradients are",
    "PRNG keys": "no numbers",
    "gradients of integers": "there are none",
    "large outputs": "more than a million elements and no gradient",
}


@dataclass(frozen=True, slots=True)
class ReferenceJob:
    """How another process builds the step. `axes`: those of the mesh its build function gets, all size 1, or None."""

    request: StepRequest
    project_root: str
    axes: list[str] | None


def run_step(
    step: NormalisedStep,
    *,
    mesh: Mesh | None,
    build_mesh: Mesh | None = None,
    steps: int,
    paths: FramePaths,
    rebuild: Rebuild | None = None,
    reference_args: Mapping[str, Any] | None = None,
    reference: ReferenceJob | None = None,
    ranges: Mapping[str, Range] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> RunFacts:
    """Execute `steps` steps on the mesh, then compare the first with one device.

    mesh: where values go that carry no placement. rebuild: builds the step again with further build arguments, on
    `build_mesh` (default: `mesh`); used with `reference_args` for the compared twin (say in float32). reference: how a
    child process builds it for one device, in one microbatch; without it nothing is compared. ranges: see `draw`.
    timeout: seconds for the reference runs. Raises StepFailure for exceptions of user code that are no JAX error.
    """
    # The capture has compiled the same program already; without this its first call would not compile.
    jax.clear_caches()
    step = settled(step)
    loop = Loop(step, mesh, paths, ranges or {})
    error: StepError | None = None
    comparisons: list[Comparison] = []
    skipped: list[NotCompared] = []
    with ExitStack() as stack:
        values: dict[str, HostValue] = {}
        runs: _References | None = None
        try:
            first = loop.arguments(0)
            values = host_values(step, *first)
            if reference is not None and _bytes(values) <= MAX_INPUT_BYTES:
                folder = Path(stack.enter_context(temporary_folder()))
                whole = {} if _draws_random(step) else _one_microbatch(reference)
                if whole != _one_microbatch(reference):
                    skipped.append(NotCompared(what="accumulation", reason=_RANDOM))
                runs = _References(reference, {**(reference_args or {}), **whole}, values, folder, timeout)
                stack.callback(runs.stop)
            loop.run(first, steps)
        except StepFailure:
            raise
        except Exception as problem:
            error = recognise(problem, paths, "run")
            if error is None:
                raise failure(problem, paths, "running the step") from None
        skipped += [NotCompared(what=f"loss of step {i}", reason="it is not finite") for i in loop.odd_losses]
        if runs is not None and error is None:

            def compared() -> NormalisedStep:
                if not reference_args or rebuild is None:
                    return step
                return rebuild(reference_args, mesh if build_mesh is None else build_mesh)

            found, missing = _compared(values, mesh, paths, compared, runs)
            comparisons, skipped = found, skipped + missing
        elif error is None:
            reason = (
                "nothing was given to build the step again" if reference is None else "its inputs are larger than 4 GiB"
            )
            skipped.append(NotCompared(what="loss, metrics and gradients", reason=reason))
    return RunFacts(
        steps=steps,
        compiles=loop.compiles,
        transfers=loop.transfers,
        losses=loop.losses,
        not_finite=loop.odd_losses,
        comparisons=comparisons,
        not_compared=skipped,
        error=error,
    )


class _References:
    """The one-device run and its float64 twin, started together."""

    def __init__(
        self, job: ReferenceJob, extra: Mapping[str, Any], values: Mapping[str, HostValue], folder: Path, timeout: float
    ) -> None:
        inputs = folder / "inputs.npz"
        save(inputs, values)
        args = {**job.request.args, **extra}
        self._deadline = time.monotonic() + timeout
        self._one = self._start(job, args, inputs, folder / "one.npz", wide=False)
        self._twin = self._start(job, widened(args), inputs, folder / "twin.npz", wide=True)

    def _start(self, job: ReferenceJob, args: dict[str, Any], inputs: Path, out: Path, wide: bool) -> ReferenceRun:
        request = ReferenceRequest(
            step=job.request.model_copy(update={"args": args}),
            axes=job.axes,
            project_root=job.project_root,
            inputs=str(inputs),
            out=str(out),
            wide=wide,
            moves=0 if wide else MOVES,
        )
        return ReferenceRun(request, out.parent)

    def one(self) -> Result | str:
        return self._one.result(self._deadline)

    def twin(self) -> Result | str:
        return self._twin.result(self._deadline)

    def stop(self) -> None:
        self._one.stop()
        self._twin.stop()


def _compared(
    values: Mapping[str, HostValue],
    mesh: Mesh | None,
    paths: FramePaths,
    build: Callable[[], NormalisedStep],
    runs: _References,
) -> tuple[list[Comparison], list[NotCompared]]:
    whole = "loss, metrics and gradients"
    try:
        compared = build()
        sharded = evaluate(compared, values, mesh, paths)
    except StepFailure:
        raise
    except Exception as problem:
        return [], [
            NotCompared(what=whole, reason=f"the step to compare failed on the mesh: {describe(problem, paths)}")
        ]
    one = runs.one()
    if isinstance(one, str):
        return [], [NotCompared(what=whole, reason=f"the run on one device failed: {one}")]
    twin, doubts = _trusted(runs.twin(), one)
    skipped = [NotCompared(what=f"float64 twin of {what}", reason=reason) for what, reason in doubts.items()]
    comparisons: list[Comparison] = []
    roundoff = roundoff_of(jax.numpy.dtype(sharded.product))
    for key, value in sharded.values.items():
        role, path = key
        if key not in one.values:
            skipped.append(NotCompared(what=f"{role} {path}", reason="the run on one device does not return it"))
            continue
        moved = [run[key] for run in one.moved if key in run]
        values_of_key = Runs(value, one.values[key], twin.get(key), moved)
        outcome = judge(role, path, values_of_key, roundoff, one.longest.get(key, ONE_TERM))
        if isinstance(outcome, str):
            skipped.append(NotCompared(what=f"{role.replace('_', ' ')} {path}", reason=outcome))
        else:
            comparisons.append(outcome)
    return comparisons, skipped + _never_compared(sharded, compared)


def _trusted(twin: Result | str, one: Result) -> tuple[dict[tuple[str, str], np.ndarray], dict[str, str]]:
    """The twin's values that are float64 throughout, and for each function the reason why the others are not used."""
    if isinstance(twin, str):
        return {}, {"the step": twin}
    kept: dict[tuple[str, str], np.ndarray] = {}
    doubts: dict[str, str] = {}
    for function, narrow in twin.narrow.items():
        if narrow is not None:
            doubts[function] = f"it still computes in less than float64: {narrow}"
            continue
        own = {k: v for k, v in twin.values.items() if _function_of(k, twin) == function and k in one.values}
        roles = (
            ("gradient", "first_moment")
            if any(k[0] in ("gradient", "first_moment") for k in own)
            else ("loss", "metric")
        )
        pairs = [(own[k], one.values[k]) for k in own if k[0] in roles and own[k].shape == one.values[k].shape]
        size = math.hypot(*(norm2(t) for t, _ in pairs)) if pairs else 0.0
        off = math.hypot(*(norm2(t.astype(np.float64) - o.astype(np.float64)) for t, o in pairs)) if pairs else 0.0
        if not off <= TWIN_MAX * size:
            doubts[function] = (
                f"it differs from one device by {off / size if size else math.inf:.2g} of the whole, more than "
                "rounding explains (random numbers drawn in another dtype, for example)"
            )
            continue
        kept |= own
    return kept | _own_losses(kept, one), doubts


def _own_losses(kept: Mapping[tuple[str, str], np.ndarray], one: Result) -> dict[tuple[str, str], np.ndarray]:
    """The twin's loss for what the step itself returns as its loss, where on one device both are the same number.

    A step's narrow arithmetic may be its optimizer's alone (a schedule in float32), which no loss depends on.
    """
    loss = ("loss", "loss")
    if loss not in kept:
        return {}
    same: dict[tuple[str, str], np.ndarray] = {}
    for key, value in one.values.items():
        if key[0] == "loss" and key not in kept and value.shape == one.values[loss].shape:
            off = norm2(value.astype(np.float64) - one.values[loss].astype(np.float64))
            if off <= 2 * roundoff_of(value.dtype) * norm2(value):
                same[key] = kept[loss]
    return same


def _function_of(key: tuple[str, str], result: Result) -> str:
    """Which function a value came from."""
    return (
        "loss_and_grads"
        if "loss_and_grads" in result.narrow and (key[0] == "gradient" or key == ("loss", "loss"))
        else "fn"
    )


def _never_compared(sharded: Evaluation, step: NormalisedStep) -> list[NotCompared]:
    found = [
        NotCompared(what=f"{kind} ({count} array{'s' if count > 1 else ''})", reason=_REASONS[kind])
        for kind, count in sharded.not_judged.items()
    ]
    roles = {role for role, _ in sharded.values}
    if step.loss_and_grads is not None:
        return found
    if "first_moment" not in roles:
        reason = "the step has no loss_and_grads, and its state no first moments"
        return [*found, NotCompared(what="gradients", reason=reason)]
    reason = (
        "the step has no loss_and_grads: the first moments stand for the gradients, and where the optimizer clips or "
        "normalises before it averages, a wrong factor is divided out again"
    )
    return [*found, NotCompared(what="scale of the gradients", reason=reason)]


def _one_microbatch(job: ReferenceJob) -> dict[str, Any]:
    """One device takes the batch at once: a mean of microbatch means is then another number."""
    name = job.request.accumulation_arg
    return {} if name is None else {name: 1}


def _draws_random(step: NormalisedStep) -> bool:
    """Whether the step makes random numbers: those of a microbatch may depend on how many there are."""
    with context_of(step):
        jaxpr = traced_jaxpr(step.jitted, step.args, step.kwargs)
    return any(eqn.primitive.name.startswith(("random_", "threefry", "rng_")) for eqn in equations(jaxpr))


def _bytes(values: Mapping[str, HostValue]) -> int:
    return sum(value.array.nbytes for value in values.values() if not value.is_python)
