"""Training resumes at the step that the checkpoint already holds.

## What it does
Reports a loop over `range(start, ...)` whose start is the number of the last checkpoint, where the loop saves the state
after a step under that step's own number.

## Why is this bad?
The state was saved after step N, under the number N; the loop starts with step N again. One batch is trained on twice,
schedules and seeds that go by the number are off by one, at every resume
(https://github.com/AI-Hypercomputer/maxdiffusion/issues/484).

## Example
    start = manager.latest_step() or 0
    for step in range(start, total):
        state = train_step(state, next(batches))
        manager.save(step, state)

## Use instead
    last = manager.latest_step()
    start = 0 if last is None else last + 1
    for step in range(start, total):
        state = train_step(state, next(batches))
        manager.save(step, state)

## What stays clean
A start that is one more, a save under `step + 1`, a save before the step, numbers that are kept in the state itself.

## References
- https://orbax.readthedocs.io/en/latest/guides/checkpoint/orbax_checkpoint_101.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..records import Call, Function, Loop
from ..rule import Example, SourceRule
from ..saves import held_by, saves
from ..values.value import Value

_LATEST = frozenset({"latest_step", "get_latest_step", "latest_checkpoint_step", "last_step", "best_step"})
_RESTORES = ("restore", "load")


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.host_functions():
        for loop in function.loops:
            if loop.kind != "for" or loop.iterable is None or not _starts_at_last(facts, loop.iterable):
                continue
            for call in saves(facts, function, loop):
                if call.block.loop is loop and _under_its_number(call, loop) and _after_a_step(call, loop, function):
                    yield facts.finding(
                        RULE,
                        loop.node,
                        "the loop starts with the step of the last checkpoint, which was saved after that step",
                        subject=f"{function.name}: resumes at the saved step",
                        help="start at the next step, or save under step + 1",
                    )
                    break


def _starts_at_last(facts: FileFacts, iterable: Value) -> bool:
    if iterable.op != "call":
        return False
    call: Call = iterable.data
    name = facts.callee(call).name or ""
    if name not in ("builtins.range", "tqdm.trange", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.auto.trange"):
        return False
    if name.endswith(".tqdm"):
        return bool(call.args) and _starts_at_last(facts, call.args[0])
    return len(call.args) > 1 and _is_last(facts, call.args[0], 0)


def _is_last(facts: FileFacts, value: Value, depth: int) -> bool:
    """Whether a number may be that of the last checkpoint, as it is."""
    if depth > 5:
        return False
    if value.op in ("phi", "bool"):
        return any(_is_last(facts, each, depth + 1) for each in value.args)
    if value.op == "call":
        call: Call = value.data
        name = facts.callee(call).name or ""
        if name.rpartition(".")[2] in _LATEST or (call.func.op == "attr" and call.func.data in _LATEST):
            return True
        if name == "builtins.int" and call.args:
            return _is_last(facts, call.args[0], depth + 1)
        made = facts.returned(value)
        return made is not None and _is_last(facts, made, depth + 1)
    if value.op == "item" and value.args[1].op == "const" and value.args[1].data == "step":
        base = value.args[0]
        return base.op == "call" and any(word in (facts.callee(base.data).name or "") for word in _RESTORES)
    return False


def _under_its_number(call: Call, loop: Loop) -> bool:
    """Whether the number of the round is saved as it is."""
    if loop.element is None:
        return False
    values = held_by(call)
    return id(loop.element) in values and not any(
        each.op == "bin" and loop.element in each.args for each in values.values()
    )


def _after_a_step(call: Call, loop: Loop, function: Function) -> bool:
    """Whether the state that is saved came out of a call in the same round."""
    for value in held_by(call).values():
        base = value.args[0] if value.op == "item" else value
        if base.op == "call" and base.data.function is function and base.data.block is not None:
            made: Call = base.data
            if made.order < call.order and loop in list(made.block.loops()) and _carried(made, loop):
                return True
    return False


def _carried(made: Call, loop: Loop) -> bool:
    return any(
        (each.op == "loop" and each.data is loop) or (each.op == "attr" and each.loop is loop)
        for each in (*made.args, *made.keywords.values())
    )


BAD = (
    Example(
        "straight",
        """
        def train(state, manager, batches, train_step, total):
            start = manager.latest_step() or 0
            for step in range(start, total):  # bad
                state = train_step(state, next(batches))
                manager.save(step, state)
            return state
        """,
    ),
    Example(
        "through a helper of another file and a condition",
        """
        from resume import first_step
        from tqdm import tqdm

        def train(state, manager, batches, train_step, total):
            start = first_step(manager)
            for step in tqdm(range(start, total)):  # bad
                state, metrics = train_step(state, next(batches))
                if step % 100 == 0:
                    manager.save(step, items={"state": state, "metrics": metrics})
            return state
        """,
        files={
            "resume.py": """
            def first_step(manager):
                latest = manager.latest_step()
                return latest if latest is not None else 0
            """
        },
    ),
    Example(
        "a number that was saved in the tree",
        """
        from flax.training.checkpoints import restore_checkpoint, save_checkpoint

        def train(folder, state, batches, train_step, total):
            saved = restore_checkpoint(folder, None)
            for number in range(int(saved["step"]), total):  # bad
                state = train_step(state, next(batches))
                save_checkpoint(folder, {"step": number, "state": state}, number)
            return state
        """,
    ),
)

GOOD = (
    Example(
        "the next step",
        """
        def train(state, manager, batches, train_step, total):
            last = manager.latest_step()
            start = 0 if last is None else last + 1
            for step in range(start, total):
                state = train_step(state, next(batches))
                manager.save(step, state)
            return state
        """,
    ),
    Example(
        "saved under the number of the next one",
        """
        def train(state, manager, batches, train_step, total):
            for step in range(manager.latest_step() or 0, total):
                state = train_step(state, next(batches))
                manager.save(step + 1, state)
            return state
        """,
    ),
    Example(
        "saved before the step",
        """
        def train(state, manager, batches, train_step, total):
            for step in range(manager.latest_step() or 0, total):
                manager.save(step, state)
                state = train_step(state, next(batches))
            return state
        """,
    ),
    Example(
        "a loop that does not resume",
        """
        def train(state, manager, batches, train_step, total, start):
            for step in range(start, total):
                state = train_step(state, next(batches))
                manager.save(step, state)
            for step in range(total):
                manager.save(step, state)
            return manager.latest_step()
        """,
    ),
)

RULE = SourceRule(
    code="CKP102",
    name="resume-step-off-by-one",
    severity="info",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
