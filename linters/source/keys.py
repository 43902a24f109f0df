"""PRNG keys: which calls use one up, and when two uses are of the same key on one path."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .records import Block, Call, Function, Loop
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .program import Program

NOT_USES = frozenset(
    {"key", "PRNGKey", "fold_in", "clone", "key_data", "wrap_key_data", "key_impl", "default_prng_impl"}
)
_IDENTITIES = frozenset({"param", "call", "item", "attr", "phi", "loop", "element"})


class KeyUse:
    """One use of a key: `value` is the key, `identity` equal for two uses of one key, `via` the function that uses it.

    `direct` is false where a function of the project is handed the key and uses it up.
    """

    __slots__ = ("call", "direct", "identity", "value", "via")

    def __init__(self, call: Call, value: Value, identity: Any, via: str, direct: bool) -> None:
        self.call = call
        self.value = value
        self.identity = identity
        self.via = via
        self.direct = direct


def key_uses(program: Program, function: Function) -> Iterator[KeyUse]:
    """The uses of keys in a function, in program order."""
    for call in function.calls:
        if call.decorates is not None:
            continue
        callee = program.callee(call.func)
        name = callee.name
        if name is None:
            continue
        if name.startswith("jax.random.") and callee.function is None:
            if name.rpartition(".")[2] in NOT_USES or name.count(".") > 2:
                continue
            key = call.argument(0, "key") if not callee.bound else callee.bound[0]
            if key is None:
                key = callee.bound_keywords.get("key")
            if key is not None and (identity := identity_of(key)) is not None:
                yield KeyUse(call, key, identity, name, True)
        elif name.startswith("equinox.nn.") and "key" in call.keywords:
            key = call.keywords["key"]
            if (identity := identity_of(key)) is not None:
                yield KeyUse(call, key, identity, name, True)
        elif callee.function is not None and (consumed := program.consumed(callee.function.id)):
            given = program.matched(callee, call.args, call.keywords)
            passed = {id(each) for each in (*call.args, *call.keywords.values())}
            for parameter in sorted(consumed):
                key = given.get(parameter)
                # A key that partial has bound is meant to be the same in each call.
                if key is not None and id(key) in passed and (identity := identity_of(key)) is not None:
                    yield KeyUse(call, key, identity, callee.function.name, False)


def same(value: Value) -> Value:
    """The value itself where all paths brought the same one."""
    for _ in range(20):
        if value.op == "loop" and (value.args[1] is value or value.args[1] is value.args[0]):
            value = value.args[0]
        else:
            break
    return value


def identity_of(key: Value) -> Any:
    """What two uses of one key have in common; None where the value tells nothing."""
    key = same(key)
    if key.op not in _IDENTITIES:
        return None
    if key.op == "call":
        call: Call = key.data
        if dotted(call.func) == "jax.random.fold_in" and len(call.args) > 1:
            base, data = identity_of(call.args[0]), same(call.args[1])
            told = ("const", data.data) if data.op == "const" else id(data)
            return ("fold_in", base, told) if base is not None else None
    if key.op == "item" and key.args[1].op != "const":
        base = identity_of(key.args[0])
        return ("item", base, id(same(key.args[1]))) if base is not None else None
    return id(key)


def varies(value: Value, loop: Loop, depth: int = 0) -> bool:
    """Whether a value may differ in each round of a loop; what is not known does."""
    value = same(value)
    op = value.op
    if depth > 12 or op in ("unknown", "star", "comp", "enter"):
        return True
    if op in ("const", "param", "name", "function", "class", "ref"):
        return False
    if op == "loop":
        return value.data is loop or any(varies(each, loop, depth + 1) for each in value.args[:1])
    if op == "element":
        return value.data is None or value.data is loop or varies(value.args[0], loop, depth + 1)
    if op == "attr":
        return (
            value.loop is loop
            or (value.loop is not None and loop in list(value.loop.block.loops()))
            or varies(value.args[0], loop, depth + 1)
        )
    if op == "call":
        call: Call = value.data
        if call.block is None or loop not in list(call.block.loops()):
            return False
        if dotted(call.func) == "jax.random.fold_in":
            return any(varies(each, loop, depth + 1) for each in call.args)
        return True
    return any(varies(each, loop, depth + 1) for each in value.args)


def repeats(use: KeyUse) -> Loop | None:
    """The loop in whose every round this use is of the same key."""
    for loop in use.call.block.loops():
        if loop.once or _leaves(use.call.block, loop):
            continue
        if not varies(use.value, loop):
            return loop
    return None


def _leaves(block: Block, loop: Loop) -> bool:
    """Whether the path through this block does not come to the next round."""
    for each in block.chain():
        if each.loop is not loop and (each.loop is None or loop not in list(each.loop.block.loops())):
            return False
        if each.ends in ("return", "break", "raise"):
            return True
    return False


def together(first: Block, second: Block) -> bool:
    """Whether one run can pass both blocks: not in other arms of a branch, nor under conditions that contradict."""
    if first.excludes(second):
        return False
    mine = [(value, arm) for value, arm in first.guards()]
    for value, arm in second.guards():
        for other, its_arm in mine:
            if value is not other and _contradict(value, arm, other, its_arm):
                return False
    return True


def _contradict(value: Value, arm: str, other: Value, its_arm: str) -> bool:
    if arm not in ("then", "else") or its_arm not in ("then", "else"):
        return False
    value, arm = _without_not(value, arm)
    other, its_arm = _without_not(other, its_arm)
    if value is other or _text(value) == _text(other):
        return arm != its_arm
    if value.op == other.op == "compare" and arm == its_arm == "then" and value.data == other.data == ("Eq",):
        same_left = value.args[0] is other.args[0] or _text(value.args[0]) == _text(other.args[0])
        constants = value.args[1].op == other.args[1].op == "const"
        return same_left and constants and value.args[1].data != other.args[1].data
    return False


def _without_not(value: Value, arm: str) -> tuple[Value, str]:
    while value.op == "unary" and value.data == "Not":
        value, arm = value.args[0], "else" if arm == "then" else "then"
    return value, arm


def _text(value: Value) -> str:
    """The code that a value was written as; unique where there is none."""
    if value.op == "param":
        return value.data.name
    if value.node is None or value.op in ("phi", "loop"):
        return f"<{id(value)}>"
    try:
        return ast.unparse(value.node)
    except RecursionError:
        return f"<{id(value)}>"
