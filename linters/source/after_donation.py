"""What a call donated, and where that is used after the call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .buffers import STATE, Use, is_host, needs, uses
from .donation import Conditions, Donation, leaves
from .keys import same
from .records import Call, Function, Loop, Record
from .together import together
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts


class Gone:
    """A value that a call donated. `round` is the loop whose first round takes it, where it came before the loop.

    `when` are conditions under which it does.
    """

    __slots__ = ("call", "plain", "round", "value", "when")

    def __init__(self, call: Call, value: Value, plain: bool, when: Conditions, round: Loop | None = None) -> None:
        self.call = call
        self.when = when
        self.value = value
        self.plain = plain
        self.round = round


def gone_with(facts: FileFacts, call: Call, donation: Donation) -> Iterator[Gone]:
    """What goes with an argument that is donated: what it holds in plain sight, what it was before a loop."""
    value, when = same(donation.value), donation.when
    for each, plain in leaves(facts.program, value):
        if each.op not in ("const", "name", "function", "class", "ref", "unknown") and not is_host(facts, each):
            yield Gone(call, each, plain and donation.itself, when)
    before = value
    while before.op == "loop" and before.args[0] is not before:
        loop, before = before.data, before.args[0]
        if before.op in ("param", "call", "item"):
            yield Gone(call, before, False, when, loop)


Used = list[tuple[Use, Record]]
"""Uses of values, each with when it happens."""


def used_in(function: Function) -> Used:
    """What a function uses, itself and through the functions that it makes and calls."""
    return [*((each, each.record) for each in uses(function)), *_in_closures(function)]


def used_after(facts: FileFacts, used: Used, gone: Gone) -> Iterator[tuple[Use, Record, str]]:
    """Where a donated value is read after the call: the use, when it happens, and how sure its numbers are needed."""
    for use, when in used:
        if when is gone.call or not _after(gone, when):
            continue
        taken = _is_gone(gone, when, use.value) or (gone.round is None and is_part_of(use.value, gone.value))
        if taken and together(gone.call.block, when.block, *gone.when):
            need = needs(facts, use)
            if need is not None:
                yield use, when, need


def _is_gone(gone: Gone, when: Record, value: Value) -> bool:
    """Whether a value is the one that was donated: an attribute, too, of which nothing was put meanwhile.

    The call of a compiled function that lies on an object changes nothing of it, any other method may.
    """
    if value is gone.value:
        # What differs from round to round is another one when the loop is left.
        return value.op != "loop" or value.data in list(when.block.loops())
    attribute = gone.value.op == "attr" and gone.plain and gone.round is None
    if not attribute or value.op != "attr" or value.data != gone.value.data or value.args[0] is not gone.value.args[0]:
        return False
    base, function = value.args[0], gone.call.function
    owner = function.owner if base.op == "param" else None
    if owner is None or value.data in owner.methods:
        return False
    between = range(gone.call.order + 1, when.order)
    return not any(each.base is base for each in function.stores if each.order in between) and not any(
        any(given is base for given in (*each.args, *each.keywords.values(), *each.func.args))
        for each in function.calls
        if each.order in between
    )


def _in_closures(function: Function) -> Iterator[tuple[Use, Record]]:
    """What functions read that are made here and called here, when they are called."""
    for call in function.calls:
        inner = call.func.data if call.func.op == "function" and call.decorates is None else None
        if inner is not None and inner.parent is function:
            yield from ((use, call) for use in uses(inner))


def _after(gone: Gone, record: Record) -> bool:
    if record.order > gone.call.order:
        return True
    return gone.round is not None and gone.round in list(record.block.loops())


def is_part_of(value: Value, whole: Value) -> bool:
    """Whether a name was bound to a part of what was donated: parameters taken out of a state."""
    for _ in range(4):
        if (value.op == "attr" and value.data in STATE) or (
            value.op == "item" and value.args[1].op == "const" and value.args[1].data in STATE
        ):
            value = value.args[0]
        else:
            return False
        if value is whole:
            return True
    return False
