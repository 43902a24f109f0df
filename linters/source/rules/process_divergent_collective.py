"""Only some processes come to a call that all of them must make.

## What it does
Reports, under a condition on `jax.process_index()` or after a return under one: barriers and exchanges of
`multihost_utils`, collectives, compiled functions, saves of orbax checkpoint managers; also where a function of the
project does it.

## Why is this bad?
In a program of many processes each one must launch the same computations in the same order. The one that goes alone
waits for the others for ever, or the others run something else meanwhile: a hang without a message
(https://github.com/AI-Hypercomputer/maxdiffusion/issues/426, https://github.com/jax-ml/jax/issues/10969).

## Example
    if jax.process_index() == 0:
        metrics = evaluate(params, batch)
        print(metrics["loss"])

## Use instead
    metrics = jax.device_get(evaluate(params, batch))
    if jax.process_index() == 0:
        print(metrics["loss"])

## What stays clean
Logging, file writes and hooks on one process, values that were fetched before, calls that the other branch makes as
well, conditions on `jax.process_count()` (all processes agree), tests.

## References
- https://docs.jax.dev/en/latest/multi_process.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..processes import differs, meets, reaches
from ..records import Block, Call, Function
from ..rule import Example, SourceRule
from ..values.value import Value

_COLLECTIVES = frozenset(
    f"jax.lax.{name}"
    for name in ("psum", "pmean", "pmax", "pmin", "all_gather", "all_to_all", "ppermute", "psum_scatter", "pshuffle")
)
_SAVES = frozenset({"save", "restore"})


def check(facts: FileFacts) -> Iterable[Finding]:
    known: dict[int, bool] = {}
    for function in facts.functions:
        for call in function.calls:
            if call.decorates is not None:
                continue
            found = _together(facts, call)
            if found is None:
                continue
            guard = next((each for each in call.block.chain() if _on_some(facts, each, known)), None)
            if guard is None or _made_by_others(facts, function, call, guard):
                continue
            what, sure = found
            yield facts.finding(
                RULE,
                call.node,
                f"{what}, but not all processes come here",
                subject=f"{function.name}: {facts.text(getattr(call.node, 'func', call.node))} on some processes",
                because=facts.why(function),
                help="call it on every process, and act on the result under the condition",
                severity="error" if sure else "warning",
                confidence="certain" if sure else "likely",
            )


def _together(facts: FileFacts, call: Call) -> tuple[str, bool] | None:
    """What a call does that takes all processes, and whether that is sure."""
    callee = facts.callee(call)
    name = callee.name
    written = facts.text(getattr(call.node, "func", call.node))
    if callee.jit is not None:
        if facts.traced(call.function) is not None:
            return None
        return f"{written} is a compiled function that all processes must launch", False
    if callee.wraps:
        return None
    if meets(name):
        return f"{written} waits for all processes", True
    if name in _COLLECTIVES:
        return f"{written} communicates with all devices of an axis", facts.traced(call.function) is not None
    if callee.function is not None:
        inner = reaches(facts.program, callee.function.id)
        return (f"{written} waits for all processes ({inner.rpartition('.')[2]})", False) if inner else None
    if call.func.op == "attr" and call.func.data in _SAVES:
        kind = facts.type_of(call.func.args[0])
        if kind is not None and kind.startswith("orbax.") and kind.endswith("CheckpointManager"):
            return f"{written} takes all processes: each holds its part of the arrays", False
    return None


def _on_some(facts: FileFacts, block: Block, known: dict[int, bool]) -> bool:
    guard: Value | None = block.guard
    if guard is None or block.arm not in ("then", "else"):
        return False
    if id(guard) not in known:
        known[id(guard)] = differs(facts.program, guard)
    return known[id(guard)]


def _made_by_others(facts: FileFacts, function: Function, call: Call, guard: Block) -> bool:
    """Whether the other arm of the condition makes the same call."""
    name = facts.callee(call).name
    for other in function.calls:
        if other is call or facts.callee(other).name != name or name is None:
            continue
        if any(each.branch is guard.branch and each.arm != guard.arm for each in other.block.chain()):
            return True
    return False


BAD = (
    Example(
        "evaluation and a barrier on the first process",
        """
        import jax
        import jax.numpy as jnp
        from jax.experimental import multihost_utils

        @jax.jit
        def evaluate(params, batch):
            return jnp.mean((batch @ params) ** 2)

        def report(params, batch):
            if jax.process_index() == 0:
                print(evaluate(params, batch))  # bad
                multihost_utils.sync_global_devices("report")  # bad
        """,
        run="report(jnp.ones(2), jnp.ones((2, 2)))",
    ),
    Example(
        "the others have returned, helpers in another file",
        """
        import jax
        from jax.experimental.multihost_utils import process_allgather as gather
        from cluster import finish, is_host, is_leader

        def collect(values, leader_only):
            leader = is_leader()
            if not leader:
                return None
            everything = gather(values)  # bad
            finish()  # bad
            if is_host(0):
                finish()  # bad
            return everything
        """,
        files={
            "cluster.py": """
            import jax
            from jax.experimental import multihost_utils as hosts

            def is_leader():
                return jax.process_index() == 0

            def is_host(host=None):
                return host is None or jax.process_index() == host

            def finish():
                barrier("done")

            def barrier(name):
                hosts.sync_global_devices(name)
            """
        },
        run="collect(1.0, True)",
    ),
    Example(
        "a flag of an object, a collective in compiled code, a checkpoint manager",
        """
        import functools
        import jax
        import orbax.checkpoint as ocp

        class Trainer:
            def __init__(self, folder):
                self.manager = ocp.CheckpointManager(folder)
                self.is_main = jax.process_index() == 0

            def save(self, step, state):
                if self.is_main and step > 0:
                    self.manager.save(step, args=ocp.args.StandardSave(state))  # bad

        @functools.partial(jax.pmap, axis_name="hosts")
        def average(x):
            return jax.lax.pmean(x, "hosts") if jax.process_index() < 1 else x  # bad
        """,
    ),
)

GOOD = (
    Example(
        "logging and files on the first process",
        """
        import json
        import pathlib
        import jax
        from jax.experimental import multihost_utils

        @jax.jit
        def train_step(state, batch):
            return state + batch, {"loss": batch}

        def train(state, batches, folder):
            if jax.process_index() == 0:
                pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            multihost_utils.sync_global_devices("folder")
            for step, batch in enumerate(batches):
                state, metrics = train_step(state, batch)
                if step % 100 == 0:
                    host = jax.device_get(metrics)
                    if jax.process_index() == 0:
                        print(json.dumps({"step": step, "loss": float(host["loss"])}))
            return state
        """,
        run="import tempfile\nwith tempfile.TemporaryDirectory() as d: train(1.0, [1.0, 2.0], d + '/x')",
    ),
    Example(
        "the other branch does it too",
        """
        import jax
        from jax.experimental import multihost_utils

        def share(make, empty):
            if jax.process_index() == 0:
                value = multihost_utils.broadcast_one_to_all(make())
            else:
                value = multihost_utils.broadcast_one_to_all(empty)
            return value
        """,
        run="share(lambda: 1.0, 0.0)",
    ),
    Example(
        "conditions on which all processes agree",
        """
        import jax
        from jax.experimental import multihost_utils

        evaluate = jax.jit(lambda x: x * 2)

        def wait(step, every):
            if jax.process_count() > 1 and step % every == 0:
                multihost_utils.sync_global_devices(f"step {step}")
            return evaluate(step) if step else None
        """,
        run="wait(3, 2)",
    ),
    Example(
        "one process only if the caller names it",
        """
        import jax
        from jax.experimental import multihost_utils

        def is_time(step, every, host=None):
            is_host = host is None or jax.process_index() == host
            return step % every == 0 and is_host

        def is_chosen(host=None):
            if host is None:
                return True
            return jax.process_index() == host

        def train(x, steps, host=None):
            for step in range(steps):
                if is_time(step, 10) and is_chosen():
                    x = multihost_utils.broadcast_one_to_all(x)
                if host is not None and jax.process_index() != host:
                    continue
                multihost_utils.sync_global_devices("step")
            return x
        """,
        run="train(1.0, 2)",
    ),
    Example(
        "after the branch has met again",
        """
        import jax

        run = jax.jit(lambda x: x + 1)

        def train(x, writer):
            name = "leader" if jax.process_index() == 0 else "worker"
            if jax.process_index() != 0:
                writer = None
            y = run(x)
            if writer is not None:
                writer.write(name)
            return y
        """,
        run="train(1.0, None)",
    ),
)

RULE = SourceRule(
    code="SHD101",
    name="process-divergent-collective",
    severity="error",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
