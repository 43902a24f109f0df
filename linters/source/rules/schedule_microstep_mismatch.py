"""A schedule is sized in microbatches, and its optimizer advances once in several of them.

## What it does
Reports `optax.MultiSteps(inner, k)` whose inner optimizer has a schedule with a length in iterations, batches or epochs
(by its name, or because a loop runs over the same number), that is nowhere divided.

## Why is this bad?
`MultiSteps` advances the inner optimizer once in `k` calls: after 8 microbatches with `k = 4` its count is 2. A warm-up
and decay of `total_iterations` then ends after a k-th of its course, and the learning rate is too high all along
(https://github.com/huggingface/diffusers/issues/2632, https://github.com/google-deepmind/optax/issues/1036).

## Example
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-4, 100, total_iterations)
    tx = optax.MultiSteps(optax.adamw(schedule), every_k_schedule=accumulation)

## Use instead
    updates = total_iterations // accumulation
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-4, 100, updates)

## What stays clean
Lengths that are divided, lengths in updates or optimizer steps, numbers whose unit nobody can tell, `k = 1`.

## References
- https://optax.readthedocs.io/en/latest/api/transformations.html#optax.MultiSteps
- https://github.com/starVLA/starVLA/pull/210
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..formulas import alike, inside
from ..optimizers import made_of, origin
from ..pattern import Pattern
from ..records import Call
from ..rule import Example, SourceRule
from ..values.value import Value

_MICRO = Pattern(r"(^|_)(iter\w*|micro\w*|batch(es)?|num_batches|epochs?|loader|dataloader|len)(_|$)", re.I)
_UPDATES = Pattern(r"update|optim|grad|accum", re.I)
# The arguments that are lengths, by position and keyword.
_LENGTHS = {
    "warmup_cosine_decay_schedule": ((2, "warmup_steps"), (3, "decay_steps")),
    "cosine_decay_schedule": ((1, "decay_steps"),),
    "linear_schedule": ((2, "transition_steps"),),
    "polynomial_schedule": ((3, "transition_steps"),),
    "exponential_decay": ((1, "transition_steps"),),
    "warmup_exponential_decay_schedule": ((2, "warmup_steps"), (3, "transition_steps")),
    "cosine_onecycle_schedule": ((0, "transition_steps"),),
    "linear_onecycle_schedule": ((0, "transition_steps"),),
    "warmup_constant_schedule": ((2, "warmup_steps"),),
}


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            callee = facts.callee(call)
            if callee.name != "optax.MultiSteps" or callee.wraps:
                continue
            inner, every = call.argument(0, "opt"), call.argument(1, "every_k_schedule")
            if inner is None or every is None or facts.constant(every) == 1:
                continue
            length = next((each for each in _lengths(facts, inner) if _is_micro(facts, call, each)), None)
            if length is None:
                continue
            yield facts.finding(
                RULE,
                call.node,
                "the inner optimizer advances once in several calls, and its schedule is as long as the calls are many",
                subject=f"{function.name}: {facts.text(call.node)}",
                because=facts.why(function),
                help="divide the lengths of the schedule by every_k_schedule",
            )


def _lengths(facts: FileFacts, inner: Value) -> Iterator[Value]:
    """The lengths of the schedules of an optimizer."""
    for _, made in made_of(facts, inner):
        for given in (*made.args, *made.keywords.values()):
            yield from _scheduled(facts, given)


def _scheduled(facts: FileFacts, value: Value, depth: int = 3) -> Iterator[Value]:
    value = origin(facts, value)
    if value.op != "call" or depth == 0:
        return
    schedule: Call = value.data
    name = facts.callee(schedule).name or ""
    if not name.startswith("optax."):
        return
    last = name.rpartition(".")[2]
    if last == "join_schedules":
        parts = schedule.argument(0, "schedules")
        for each in parts.args if parts is not None and parts.op in ("list", "tuple") else ():
            yield from _scheduled(facts, each, depth - 1)
    for position, keyword in _LENGTHS.get(last, ()):
        length = schedule.argument(position, keyword)
        if length is not None:
            yield length


def _is_micro(facts: FileFacts, call: Call, length: Value) -> bool:
    """Whether a length counts microbatches: by the names it is made of, or since a loop runs as often."""
    parts = list(inside(facts, length))
    if any(each.op == "bin" and each.data in ("Div", "FloorDiv") for each in parts):
        return False
    called = {facts.callee(each.data).name or "" for each in parts if each.op == "call"}
    if called & {"math.ceil", "math.floor", "numpy.ceil", "numpy.floor"}:
        return False
    names = [name for each in parts if (name := _name(each))]
    if any(_UPDATES.search(name) for name in names) or length.op == "const":
        return False
    if any(_MICRO.search(name) for name in names):
        return True
    return any(_runs_over(facts, loop.iterable, length) for loop in call.function.loops if loop.iterable is not None)


def _name(value: Value) -> str:
    if value.op == "param":
        return value.data.name
    if value.op == "attr":
        return value.data
    if value.op == "name":
        return value.data.rpartition(".")[2]
    if value.op == "const" and isinstance(value.data, str):
        return value.data
    return ""


def _runs_over(facts: FileFacts, iterable: Value, length: Value) -> bool:
    """Whether a loop is `for step in range(length)`."""
    if iterable.op != "call" or not iterable.data.args:
        return False
    name = facts.callee(iterable.data).name
    return name in ("builtins.range", "tqdm.tqdm", "tqdm.trange") and any(
        alike(each, length) or _runs_over(facts, each, length) for each in iterable.data.args
    )


BAD = (
    Example(
        "a schedule over all iterations",
        """
        import optax

        def make(total_iterations, accumulation):
            schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-4, 1, total_iterations)
            return optax.MultiSteps(optax.adamw(schedule), every_k_schedule=accumulation)  # bad
        """,
        run=(
            "import jax.numpy as jnp\n"
            "tx = make(8, 4)\np = jnp.ones(2)\nstate = tx.init(p)\n"
            "for _ in range(8):\n    _, state = tx.update(p, state, p)\n"
            "assert int(state.gradient_step) == 2"
        ),
    ),
    Example(
        "a schedule of another file, in a chain",
        """
        from functools import partial
        import optax
        from schedules import decay

        def make(config):
            parts = optax.chain(optax.clip_by_global_norm(1.0), optax.lion(decay(config)))
            return optax.MultiSteps(parts, config.accumulate)  # bad
        """,
        files={
            "schedules.py": """
            import optax as ox

            def decay(config):
                return ox.cosine_decay_schedule(1e-3, decay_steps=config.epochs * config.batches)
            """
        },
        run="from types import SimpleNamespace as S\nmake(S(epochs=1, batches=8, accumulate=2))",
    ),
    Example(
        "as long as the loop, by an alias",
        """
        import optax
        from optax import MultiSteps as every

        def train(params, length, batches, grad):
            tx = every(optax.sgd(optax.linear_schedule(0.1, 0.0, length)), 4)  # bad
            state = tx.init(params)
            for step in range(length):
                updates, state = tx.update(grad(params, batches[step]), state, params)
                params = optax.apply_updates(params, updates)
            return params
        """,
        run="import jax.numpy as jnp\ntrain(jnp.ones(2), 4, [0] * 4, lambda p, b: p)",
    ),
)

GOOD = (
    Example(
        "the length is divided",
        """
        import optax

        def make(total_iterations, accumulation):
            schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-4, 1, total_iterations // accumulation)
            return optax.MultiSteps(optax.adamw(schedule), every_k_schedule=accumulation)
        """,
        run="make(8, 4)",
    ),
    Example(
        "counted in updates already",
        """
        import optax

        def make(config):
            schedule = optax.cosine_decay_schedule(1e-3, config.optimizer_steps)
            return optax.MultiSteps(optax.adam(schedule), config.accumulation)
        """,
        run="from types import SimpleNamespace as S\nmake(S(optimizer_steps=8, accumulation=4))",
    ),
    Example(
        "a unit that nobody can tell, and constants",
        """
        import optax

        def make(steps, accumulation):
            first = optax.MultiSteps(optax.adam(optax.cosine_decay_schedule(1e-3, steps)), accumulation)
            return first, optax.MultiSteps(optax.adam(optax.linear_schedule(0.1, 0.0, 10_000)), 4)
        """,
        run="make(8, 4)",
    ),
    Example(
        "no schedule, and no accumulation",
        """
        import optax

        def make(total_iterations, rate):
            schedule = optax.cosine_decay_schedule(rate, total_iterations)
            return optax.adam(schedule), optax.MultiSteps(optax.adam(rate), 4), optax.MultiSteps(optax.sgd(schedule), 1)
        """,
        run="make(8, 0.1)",
    ),
)

RULE = SourceRule(
    code="SEM105",
    name="schedule-microstep-mismatch",
    severity="info",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
