"""What goes from round to round of a loop on the host, and which compiled function a value came out of in a round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .apis import ARRAY_METHODS, STATIC_ATTRIBUTES, TREE_METHODS, result_of
from .records import Branch, Call, Function, Loop
from .syncs import unconditional
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

ON_DEVICE = frozenset({"device", "eager"})
_FOLLOWED = frozenset({"array", "tree", "mapped", "same", "outputs", "reduced", "collection"})
DEEPEST = 12


def sources(facts: FileFacts, value: Value, seen: set[int]) -> Iterator[tuple[Call, bool]]:
    """The calls of compiled functions that a value came out of in this round, and whether it did so in plain sight."""
    if id(value) in seen or len(seen) > 200:
        return
    seen.add(id(value))
    op = value.op
    if op == "call":
        yield from _made_by(facts, value, seen)
    elif op == "item":
        part = facts.program.item_of(value)
        if part is not None and value.args[0].op == "call" and value.args[0].data.block is not None:
            callee = facts.callee(value.args[0].data)
            if callee.function is not None and not callee.wraps:
                if facts.kind(part) in ON_DEVICE and _from_jit(facts, part):
                    yield value.args[0].data, False
                return
        yield from sources(facts, value.args[0], seen)
    elif op == "attr":
        if value.data not in STATIC_ATTRIBUTES:
            yield from sources(facts, value.args[0], seen)
    elif op in ("bin", "unary", "compare", "tuple", "list", "dict", "element", "star", "updated", "format", "phi"):
        if op == "compare" and any(each in ("Is", "IsNot", "In", "NotIn") for each in value.data):
            return
        for each in value.args:
            yield from sources(facts, each, seen)
    elif op == "comp":
        yield from sources(facts, value.args[0], seen)


def _made_by(facts: FileFacts, value: Value, seen: set[int]) -> Iterator[tuple[Call, bool]]:
    call: Call = value.data
    if call.block is None:
        return
    callee = facts.callee(call)
    if callee.jit is not None:
        yield call, True
    elif callee.function is not None:
        if not callee.wraps and facts.kind(value) in ON_DEVICE:
            made = facts.returned(value)
            if made is not None and _from_jit(facts, made):
                yield call, False
    elif callee.name is None:
        return
    elif callee.name.startswith("."):
        if callee.name[1:] in ARRAY_METHODS or callee.name[1:] in TREE_METHODS:
            yield from sources(facts, call.func.args[0], seen)
    elif result_of(callee.name) in _FOLLOWED and not callee.name.startswith("numpy."):
        for each in call.args:
            yield from sources(facts, each, seen)


def _from_jit(facts: FileFacts, made: Value, depth: int = 0) -> bool:
    """Whether what a function returns came out of a compiled one, as seen from outside."""
    if depth > 6:
        return False
    if made.op == "call":
        callee = facts.callee(made.data)
        if callee.jit is not None:
            return True
        if callee.function is not None and not callee.wraps:
            inner = facts.returned(made)
            return inner is not None and _from_jit(facts, inner, depth + 1)
    if made.op in ("item", "attr", "tuple", "list", "dict", "phi", "bin"):
        return any(_from_jit(facts, each, depth + 1) for each in made.args)
    return False


def carries(source: Call, loop: Loop) -> bool:
    """Whether an argument of the call comes from the round before."""
    return any(_comes_round(each, loop) for each in (*source.args, *source.keywords.values()))


def _comes_round(value: Value, loop: Loop, depth: int = 0) -> bool:
    if depth > DEEPEST:
        return False
    if value.op == "loop" and value.data is loop:
        return True
    if value.op == "attr" and value.loop is loop:
        return True
    if value.op in ("attr", "item", "tuple", "list", "dict", "star", "updated", "phi", "bin"):
        return any(_comes_round(each, loop, depth + 1) for each in value.args)
    return False


def needed(facts: FileFacts, function: Function, loop: Loop) -> set[int]:
    """What the rounds to come depend on: arguments of compiled functions, and conditions that end the loop."""
    inside = [call for call in function.calls if loop in list(call.block.loops())]
    todo = [
        each for call in inside if facts.callee(call).jit is not None for each in (*call.args, *call.keywords.values())
    ]
    found: set[int] = set()
    for branch in function.branches:
        if branch.value is None or loop not in [*branch.block.loops(), loop if branch.node is loop.node else None]:
            continue
        if branch.kind in ("while", "assert") or (branch.kind == "if" and _ends(function, branch)):
            todo.append(branch.value)
            found.add(id(branch))
    owners = {id(each.parameters[0]) for each in function.chain() if each.owner is not None and each.parameters}
    objects: set[int] = set()
    seen = found
    while todo:
        value = todo.pop()
        if id(value) in seen or len(seen) > 5000:
            continue
        seen.add(id(value))
        if value.op != "call":
            todo += [each for each in value.args if isinstance(each, Value)]
            continue
        call: Call = value.data
        todo += [*call.args, *call.keywords.values()]
        if call.func.op == "attr":
            todo.append(call.func)
            base = call.func.args[0]
            own = base.op == "param" and id(base.data) in owners
            if id(base) not in objects and not own and base.op != "name" and facts.callee(call).jit is None:
                # What the object was told before may come back out of it.
                objects.add(id(base))
                for other in inside:
                    if other.func.op == "attr" and other.func.args[0] is base:
                        todo += [*other.args, *other.keywords.values()]
    return seen


def now_and_then(loop: Loop) -> bool:
    """Whether a loop runs in some rounds only of one round it: an evaluation every so many steps."""
    return any(not unconditional(loop.block, outer) for outer in loop.block.loops())


def _ends(function: Function, branch: Branch) -> bool:
    """Whether an arm of a branch leaves the loop or the function."""
    node = branch.node
    bodies = [getattr(node, "body", []), getattr(node, "orelse", [])]
    return any(type(each).__name__ in ("Break", "Return", "Raise", "Continue") for body in bodies for each in body[-1:])


def holds(value: Value, wanted: Value, depth: int = 0) -> bool:
    if value is wanted:
        return True
    return depth < 6 and value.op != "call" and any(holds(each, wanted, depth + 1) for each in value.args)
