"""Keys that objects hold: whether `holder.key` is still the same when it is read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .callee import Callee
from .records import Block, Call, Function, Loop
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

_KEEP = ("jax.", "builtins.", "numpy.")
"""Functions of these change no attribute of what they are given."""


def holders(value: Value) -> list[Value]:
    """The objects that a value is read from, innermost first: of `a.b.key` these are `a.b` and `a`."""
    found = []
    while value.op in ("attr", "item"):
        value = value.args[0]
        found.append(value)
    return found


def computed(facts: FileFacts, value: Value) -> bool:
    """Whether reading a value runs code: it, or what it is read from, is a property of a class in sight."""
    program = facts.program
    while value.op in ("attr", "item"):
        base = value.args[0]
        kind = facts.type_of(base) if value.op == "attr" else None
        member = program.member(kind, value.data) if kind is not None and kind in program.class_data else None
        while member is not None and member.op == "call":
            if dotted(member.data.func) == "builtins.property":
                return True
            member = member.data.args[0] if member.data.args else None
        value = base
    return False


def is_plain(facts: FileFacts, value: Value) -> bool:
    """Whether reading a value surely runs no code: an attribute of an object whose class is in sight."""
    while value.op in ("attr", "item"):
        base = value.args[0]
        if value.op == "attr" and base.op != "name":
            kind = facts.type_of(base)
            if kind is None or kind not in facts.program.class_data:
                return False
        value = base
    return True


def changed_between(facts: FileFacts, value: Value, first: Call, second: Call) -> bool:
    """Whether a call after the first and before the second may put another value there."""
    held_by = holders(value)
    calls = (each for each in first.function.calls if first.order < each.order < second.order)
    return bool(held_by) and any(_may_change(facts, each, held_by) for each in calls)


def changed_in(facts: FileFacts, value: Value, loop: Loop, function: Function) -> bool:
    """Whether a call in a round of the loop may put another value there."""
    held_by = holders(value)
    return bool(held_by) and any(
        _is_in(each.block, loop) and _may_change(facts, each, held_by) for each in function.calls
    )


def _is_in(block: Block, loop: Loop) -> bool:
    return loop in list(block.loops())


def _may_change(facts: FileFacts, call: Call, held_by: list[Value]) -> bool:
    """Whether a call is given an object and may set its attributes: one that is not in sight may."""
    if call.decorates is not None:
        return False
    given = {id(each) for each in (*call.args, *call.keywords.values())}
    if not any(id(each) in given for each in held_by):
        return False
    callee = facts.callee(call)
    if callee.name is not None and callee.function is None and callee.name.startswith(_KEEP):
        return False
    return not _only_reads(facts, call, callee, held_by)


def _only_reads(facts: FileFacts, call: Call, callee: Callee, held_by: list[Value]) -> bool:
    """Whether a function of this file sets no attribute of any object, and hands those that it is given to no other."""
    function = callee.function
    if not isinstance(function, Function) or callee.wraps:
        return callee.jit is not None  # compiled code gives back new values
    given = {name for name, each in facts.arguments(call).items() if any(each is holder for holder in held_by)}
    mine = [each for each in function.parameters if each.name in given]
    if any(each.kind == "attribute" for each in function.stores):
        return False
    handed = (each for inner in function.calls for each in (*inner.args, *inner.keywords.values(), *inner.func.args))
    return not any(each.op == "param" and each.data in mine for each in handed)
