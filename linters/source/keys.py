"""PRNG keys: which calls use one up, and when two uses are of the same key on one path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .records import Block, Call, Function, Loop
from .together import facts
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
        if loop.once or _leaves(use.call.block, loop) or _in_one_round(use.call.block, loop):
            continue
        if not varies(use.value, loop):
            return loop
    return None


def _in_one_round(block: Block, loop: Loop) -> bool:
    """Whether a block runs in one round of a loop at most: where what differs in each has one value, or as long as a
    name that the rounds bind again is None or a flag.
    """
    for each in block.chain():
        if not _is_inside(each, loop):
            return False
        if each.guard is None or each.arm not in ("then", "else"):
            continue
        for value, holds in facts([(each.guard, each.arm == "then")]):
            equal = value.op == "compare" and value.data == (("Eq",) if holds else ("NotEq",))
            if equal and any(_is_another(side, loop) for side in value.args):
                return True
            latch = value.args[0] if value.op == "compare" and value.data in (("Is",), ("IsNot",)) else value
            if latch.op == "loop" and latch.data is loop and same(latch) is latch:
                return True
    return False


def _is_another(value: Value, loop: Loop) -> bool:
    """Whether a value is another one in each round: a count, a key of a dictionary, one of several constants."""
    if value.op == "loop":
        after = value.args[1]
        return value.data is loop and after.op == "bin" and any(each is value for each in after.args)
    if value.op != "element" or value.data is not loop:
        return False
    over = value.args[0]
    if over.op in ("tuple", "list", "set"):
        constants = [each.data for each in over.args if each.op == "const"]
        return len(constants) == len(over.args) == len(set(map(repr, constants)))
    if over.op == "call":
        return dotted(over.data.func) == "builtins.range"
    return over.op == "unknown" and value.kind == "static"  # what `enumerate` counts, the keys of `items()`


def _is_inside(block: Block, loop: Loop) -> bool:
    return block.loop is loop or (block.loop is not None and loop in list(block.loop.block.loops()))


def _leaves(block: Block, loop: Loop) -> bool:
    """Whether the path through this block does not come to the next round."""
    for each in block.chain():
        if not _is_inside(each, loop):
            return False
        if each.ends in ("return", "break", "raise"):
            return True
    return False
