"""An array is read after it was donated to a compiled function.

## What it does
Follows what a call donates (`donate_argnums`, `donate_argnames`, `donate="all"`), and reports later reads of it on the
same path, reads in the same call, and calls in a loop that donate in each round what was gone after the first. A
function that hands its argument on to such a call donates it too.

## Why is this bad?
The memory of a donated array is written over, and the array is deleted: reading it raises `Array has been deleted`
(https://github.com/jax-ml/jax/issues/9675). Donated and read in one call, it was a hang on some backends
(https://github.com/jax-ml/jax/issues/9635).

## Example
    step = jax.jit(_step, donate_argnums=0)

    def train(state, batch):
        new_state, loss = step(state, batch)
        drift = jnp.abs(new_state - state)

## Use instead
    def train(state, batch):
        before = jnp.copy(state)
        state, loss = step(state, batch)
        drift = jnp.abs(state - before)

## What stays clean
A name that is bound again by the same statement, reads before the call, copies, shapes and dtypes (they survive), the
keys and length of a tree of arrays, what is put into it or taken out, its leaves that are NumPy arrays, other
branches, conditions under which the function that donates was not the one that was called, handlers of exceptions,
`flax.nnx.jit` (it puts the new arrays into the module), compiled code (an inner donation has no effect there), tests.

## References
- https://docs.jax.dev/en/latest/buffer_donation.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..after_donation import Gone, Used, gone_with, is_part_of, used_after, used_in
from ..buffers import Use
from ..concrete import is_met
from ..donation import Donation, donated, leaves
from ..facts import FileFacts
from ..keys import same
from ..rebuilt import comes_again
from ..records import Call, Function, Loop, Record
from ..rule import SourceRule
from ..twins.use_after_donate import BAD, GOOD
from ..values.value import Value, spread

_ERRORS = (RuntimeError, ValueError)
"""What reading a deleted array raises, and handing it to a compiled function."""


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.host_functions():
        told: set[ast.AST] = set()
        used: Used | None = None
        for call in function.calls:
            if call.decorates is not None:
                continue
            for donation in donated(facts, call):
                finding = _at_once(facts, call, donation)
                if finding is not None and not is_met(facts, call, _ERRORS):
                    told.add(call.node)
                    yield finding
                    continue
                for gone in gone_with(facts, call, donation):
                    used = used_in(function) if used is None else used
                    read = used_after(facts, used, gone)
                    found = next((each for each in read if not is_met(facts, each[1], _ERRORS)), None)
                    if found is not None and found[0].node not in told:
                        told.add(found[0].node)
                        yield _read(facts, gone, donation, found)
                        break


def _at_once(facts: FileFacts, call: Call, donation: Donation) -> Finding | None:
    """The call itself reads, or has donated before, what it donates."""
    how, value, itself = donation.how, donation.value, donation.itself and donation.always
    mine = {id(each) for each, _ in leaves(facts.program, value) if each.op not in ("const", "name", "function")}
    others = [id(each) for given in _given(call, value) for each, _ in leaves(facts.program, given)]
    called = facts.text(getattr(call.node, "func", call.node))
    if (mine & set(others)) or _twice(call, value):
        return facts.finding(
            RULE,
            call.node,
            f"`{called}` donates {how} and reads it as another argument of the same call",
            subject=f"{call.function.name}: {called} donates and reads",
            help="pass a copy, or do not donate it",
            severity="error",
            confidence="certain" if itself else "likely",
        )
    loop = comes_again(call.block)
    if loop is None or not _outside(same(value), loop, call.function) or loop.kind == "comprehension":
        return None
    if any(each is not loop for each in call.block.loops() if each.once):
        return None
    return facts.finding(
        RULE,
        call.node,
        f"`{called}` donates {how} in every round of this loop, but it is deleted after the first",
        subject=f"{call.function.name}: {called} donates in a loop",
        help="bind the result to the same name, or pass a copy",
        confidence="certain" if itself and not _conditional(call, loop) else "likely",
    )


def _given(call: Call, value: Value) -> Iterator[Value]:
    """The other arguments of a call."""
    found = False
    for each in (*spread(call.args), *call.keywords.values()):
        if each is value and not found:
            found = True
            continue
        yield each.args[0] if each.op == "star" else each


def _twice(call: Call, value: Value) -> bool:
    return sum(each is value for each in (*spread(call.args), *call.keywords.values())) > 1 and value.op not in (
        "const",
        "name",
    )


def _outside(value: Value, loop: Loop, function: Function) -> bool:
    """Whether a value was there before the loop, and is the same in each round."""
    if value.op == "param":
        return True
    if value.op == "call":
        made: Call = value.data
        return made.function is function and loop not in list(made.block.loops())
    if value.op == "item" and value.args[1].op == "const":
        return _outside(same(value.args[0]), loop, function)
    return False


def _conditional(call: Call, loop: Loop) -> bool:
    return any(each.branch is not None for each in call.block.chain() if each.loop is loop)


def _read(facts: FileFacts, gone: Gone, donation: Donation, found: tuple[Use, Record, str]) -> Finding:
    (use, when, need), how = found, donation.how
    called = facts.text(getattr(gone.call.node, "func", gone.call.node))
    first = "the first round of the loop" if gone.round is not None else "it"
    sure = gone.plain and need == "certain" and not is_part_of(use.value, gone.value)
    taken = facts.text(use.node)
    return facts.finding(
        RULE,
        use.node,
        f"`{taken}` is read here, but `{called}` on {facts.line(gone.call.node)} took {how}: {first} has deleted it",
        subject=f"{use.record.function.name}: {taken} after {called}",
        help="bind the result to the same name, read it before the call, or pass a copy",
        confidence="certain" if sure and donation.always and not _perhaps(gone.call, when) else "likely",
    )


def _perhaps(call: Call, read: Record) -> bool:
    """Whether conditions stand before the call that do not stand before the read."""
    mine = {id(each) for each in read.block.chain()}
    return any(id(each) not in mine and each.branch is not None for each in call.block.chain())


RULE = SourceRule(
    code="MEM101",
    name="use-after-donate",
    severity="error",
    confidence="certain",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
