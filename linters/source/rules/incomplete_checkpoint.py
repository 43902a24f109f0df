"""A checkpoint in a training loop leaves out the optimizer's state.

## What it does
Reports a save in a loop that holds the parameters which a step gave back, and not the optimizer state (what
`tx.init(params)` started, or is named so) that the same step gave back.

## Why is this bad?
After a resume the moments start at zero, and the learning rate's schedule at its first step: the loss jumps, and
nothing says why (https://github.com/instadeepai/Mava/issues/746, https://github.com/p-doom/jasmine/issues/17). The same
holds for the key of dropout, which repeats. Exact is only a test that saves, restores, and compares one step.

## Example
    for step, batch in enumerate(loader):
        params, opt_state = train_step(params, opt_state, batch)
        manager.save(step, {"params": params})

## Use instead
    for step, batch in enumerate(loader):
        params, opt_state = train_step(params, opt_state, batch)
        manager.save(step, {"params": params, "opt_state": opt_state})

## What stays clean
One state object that holds everything, exports of weights, saves after the loop, loops that save the optimizer's state
in another call, evaluation.

## References
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/orbax_checkpoint_101.html
- https://github.com/AI-Hypercomputer/maxtext/pull/4343
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..records import Call, Function, Loop
from ..rule import Example, SourceRule
from ..saves import held_by, saves
from ..values.value import Value

_NAMES = ("opt_state", "optimizer_state", "optim_state", "opt_states")


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.host_functions():
        for loop in function.loops:
            if loop.kind == "comprehension":
                continue
            written = [call for call in saves(facts, function, loop) if call.block.loop is loop]
            if not written:
                continue
            for step, at, head in _optimizer_states(facts, function, loop):
                held = [held_by(call) for call in written]
                if any(_has(each, step, at, head) for each in held):
                    continue
                for call, values in zip(written, held, strict=True):
                    if call.order > step.order and _has_another(values, step, at):
                        called = facts.text(getattr(step.node, "func", step.node))
                        yield facts.finding(
                            RULE,
                            call.node,
                            f"the checkpoint has what {called} gave back, but not the optimizer's state",
                            subject=f"{function.name}: {facts.text(getattr(call.node, 'func', call.node))}",
                            help="save the optimizer's state, the step and the keys beside the parameters",
                        )
                        break


def _optimizer_states(facts: FileFacts, function: Function, loop: Loop) -> Iterator[tuple[Call, int, Value]]:
    """Steps of a loop that take an optimizer's state and give the next one back: the call, its place in the result."""
    for call in function.calls:
        if call.block.loop is not loop:
            continue
        for given in (*call.args, *call.keywords.values()):
            if given.op != "loop" or given.data is not loop or not _is_optimizer(facts, given.args[0]):
                continue
            after = given.args[1]
            if after.op == "item" and after.args[0] is call.result and after.args[1].op == "const":
                yield call, after.args[1].data, given


def _is_optimizer(facts: FileFacts, first: Value) -> bool:
    if first.op == "param":
        return first.data.name in _NAMES
    if first.op != "call" or first.data.block is None:
        return False
    call: Call = first.data
    if call.func.op == "item" and call.func.args[0].op == "call":
        # init, update = optax.adam(rate)
        return (facts.callee(call.func.args[0].data).name or "").startswith("optax.")
    if call.func.op != "attr" or call.func.data != "init" or call.keywords or len(call.args) != 1:
        return False
    given = call.args[0]
    # A model is initialised with a key, an optimizer with parameters.
    return given.op in ("param", "item", "attr", "call") and "key" not in str(getattr(given.data, "name", ""))


def _has(values: dict[int, Value], step: Call, at: int, head: Value) -> bool:
    found = False
    for value in values.values():
        if value is head or value is step.result or value.op in ("unknown", "star"):
            return True
        if value.op == "item" and value.args[0] is step.result:
            place = value.args[1]
            found = found or place.op != "const" or place.data == at
    return found


def _has_another(values: dict[int, Value], step: Call, at: int) -> bool:
    """Whether something else that the step gave back is saved."""
    return (
        any(
            each.op == "item" and each.args[0] is step.result and each.args[1].op == "const" and each.args[1].data == 0
            for each in values.values()
        )
        and at != 0
    )


BAD = (
    Example(
        "parameters alone",
        """
        import jax

        def train(params, tx, loader, key, manager, step_fn):
            opt_state = tx.init(params)
            for step, batch in enumerate(loader):
                key, sub = jax.random.split(key)
                params, opt_state, loss = step_fn(params, opt_state, batch, sub)
                if step % 1000 == 0:
                    manager.save(step, {"params": params, "loss": loss})  # bad
            return params
        """,
    ),
    Example(
        "an optimizer that was taken apart",
        """
        import optax

        def fit(params, loader, manager, update, rate):
            start, apply = optax.adam(rate)
            opt_state = start(params)
            for step, batch in enumerate(loader):
                params, opt_state = update(apply, params, opt_state, batch)
                manager.save(step, {"params": params})  # bad
            return params
        """,
    ),
    Example(
        "through a helper's arguments, with a while loop",
        """
        import orbax.checkpoint as ocp
        from steps import update

        def fit(variables, optimizer, stream, folder):
            moments = optimizer.init(variables["params"])
            weights = variables["params"]
            saver = ocp.StandardCheckpointer()
            count = 0
            while count < 100:
                weights, moments = update(weights, moments, next(stream))
                count += 1
                if count % 10 == 0:
                    saver.save(folder / str(count), args=ocp.args.StandardSave(dict(weights=weights)))  # bad
            return weights
        """,
        files={
            "steps.py": """
            import jax

            @jax.jit
            def update(params, state, batch):
                return params, state
            """
        },
    ),
    Example(
        "a method, the state comes in",
        """
        from flax.training import checkpoints as ckpt

        class Trainer:
            def run(self, params, opt_state, batches):
                for number, batch in enumerate(batches):
                    params, opt_state = self.step(params, opt_state, batch)
                    ckpt.save_checkpoint(self.folder, params, number)  # bad
                return params, opt_state
        """,
    ),
)

GOOD = (
    Example(
        "everything is saved",
        """
        def train(params, tx, loader, manager, step_fn):
            opt_state = tx.init(params)
            for step, batch in enumerate(loader):
                params, opt_state = step_fn(params, opt_state, batch)
                manager.save(step, {"params": params, "opt_state": opt_state, "step": step})
            return params
        """,
    ),
    Example(
        "one state object",
        """
        def train(state, loader, manager, step_fn):
            for step, batch in enumerate(loader):
                state, metrics = step_fn(state, batch)
                if step % 100 == 0:
                    manager.save(step, state)
            return state, metrics
        """,
    ),
    Example(
        "weights are exported, and the optimizer's state has a call of its own",
        """
        def train(params, opt_state, loader, exporter, manager, step_fn):
            for step, batch in enumerate(loader):
                params, opt_state = step_fn(params, opt_state, batch)
                exporter.export_weights.save(params)
                manager.save(step, params)
                manager.save(step + 1, opt_state)
            return params
        """,
    ),
    Example(
        "after the loop",
        """
        def train(params, tx, loader, manager, step_fn):
            opt_state = tx.init(params)
            for batch in loader:
                params, opt_state = step_fn(params, opt_state, batch)
            manager.save(0, {"params": params})
            return params
        """,
    ),
)

RULE = SourceRule(
    code="CKP101",
    name="incomplete-checkpoint",
    severity="info",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
