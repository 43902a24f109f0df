"""Which arguments a call gives away: JAX may write over the memory of what is donated, and deletes the array."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from .callee import Callee
from .records import Branch, Call
from .together import Condition
from .values.value import Value, spread

if TYPE_CHECKING:
    from .facts import FileFacts
    from .program import Program

# These put the new arrays into the modules that they were given, so what is donated to them is not lost.
_UPDATES_IN_PLACE = frozenset({"flax.nnx.jit", "flax.nnx.pmap"})
Conditions = tuple[Condition, ...]
_HOLDERS = frozenset({"tuple", "list", "dict", "set"})


class Donation(NamedTuple):
    """An argument that a call donates, as `how` says it. `itself` is false where a function of the project hands it on.

    `when` are the conditions under which what is called donates it, where it may be one of several functions;
    `always` says that all of them do.
    """

    how: str
    value: Value
    itself: bool
    when: Conditions = ()
    always: bool = True


def donated(facts: FileFacts, call: Call) -> list[Donation]:
    """The arguments that a call on the host donates."""
    functions = list(_alternatives(call.func))
    if len(functions) == 1:
        return _donated_by(facts, call, call.func)
    found: list[Donation] = []
    by_each = [(_donated_by(facts, call, func), when) for func, when in functions]
    for given, when in by_each:
        for each in given:
            if not any(each.value is other.value for other in found):
                always = all(any(other.value is each.value for other in others) for others, _ in by_each)
                found.append(each._replace(when=() if always else when, always=always))
    return found


def _alternatives(func: Value, when: Conditions = (), depth: int = 0) -> Iterator[tuple[Value, Conditions]]:
    """The functions that a name may be, each with the conditions under which it is this one."""
    if func.op != "phi" or depth > 4:
        yield func, when
        return
    asked = func.data.value if isinstance(func.data, Branch) and len(func.args) == 2 else None
    for each, arm in zip(func.args, ("then", *repeat("else", len(func.args) - 1)), strict=True):
        yield from _alternatives(each, (*when, (asked, arm)) if asked is not None else when, depth + 1)


def _donated_by(facts: FileFacts, call: Call, func: Value) -> list[Donation]:
    """What a call of this function donates. One of the project may hand its argument on to one that does."""
    program = facts.program
    callee = _compiled(facts, func) or facts.callee(func)
    if _donates_itself(callee):
        return [Donation(each, value, True) for each, value in _given_away(program, callee, call.args, call.keywords)]
    if callee.function is None or callee.wraps or callee.cls is not None:
        return []
    names = donates(program, callee.function.id)
    if not names:
        return []
    given = program.matched(callee, call.args, call.keywords)
    written = {id(each) for each in (*call.args, *call.keywords.values())}
    handed = [name for name in sorted(names) if name in given and id(given[name]) in written]
    return [Donation(name, given[name], False) for name in handed]


def _compiled(facts: FileFacts, value: Value) -> Callee | None:
    """What `jax.jit(f).lower(...).compile()` runs, where it takes the arguments that `f` does."""
    for name in ("compile", "lower"):
        func = value.data.func if value.op == "call" else value
        if func.op != "attr" or func.data != name:
            return None
        value = func.args[0]
    callee = facts.callee(value)
    options = facts.jit_options(callee)
    return callee if callee.jit is not None and not (options.static_numbers or options.static_names) else None


def _donates_itself(callee: Callee) -> bool:
    return bool(callee.wraps) and callee.jit is callee.wraps[0] and callee.wraps[0].name not in _UPDATES_IN_PLACE


def _given_away(
    program: Program, callee: Callee, args: list[Value], keywords: dict[str | None, Value]
) -> Iterator[tuple[str, Value]]:
    options = program.jit_options(callee)
    jit = callee.jit
    every = options.all_donated and jit is not None and program.constant(jit.options.get("donate"), None) == "all"
    if not (every or options.donated_numbers or options.donated_names):
        return
    for at, value in enumerate(spread(args)):
        if value.op == "star":
            break
        if every or at in (options.donated_numbers or ()):
            yield f"argument {at}", value
    for name, value in keywords.items():
        if name is not None and (every or name in (options.donated_names or ())):
            yield f"argument {name}", value


def leaves(program: Program, value: Value, depth: int = 0) -> Iterator[tuple[Value, bool]]:
    """A donated value and what it surely holds, each with whether that is in plain sight (no class between)."""
    yield value, True
    if depth > 4:
        return
    if value.op in _HOLDERS:
        for each in value.args:
            if each.op != "star":
                yield from leaves(program, each, depth + 1)
    elif value.op == "call" and value.data.decorates is None and program.callee(value.data.func).cls is not None:
        for each in (*value.data.args, *value.data.keywords.values()):
            if each.op in ("param", "call", "loop", "item", "phi"):
                yield each, False


_DONATES: WeakKeyDictionary[Program, dict[str, frozenset[str]]] = WeakKeyDictionary()


def donates(program: Program, id: str) -> frozenset[str]:
    """The parameters that a function of the project donates, in calls that it makes on the host."""
    known = _DONATES.setdefault(program, {})
    if id in known:
        return known[id]
    known[id] = frozenset()
    function = program.function(id)
    if function is None or function.data.get("g") or id in program.traced_functions:
        return frozenset()
    found: set[str] = set()
    for func, args, keywords, _ in function.calls:
        if not any(each and each[0] == "p" and not each[1] for each in (*args, *keywords.values())):
            continue
        callee = program.callee(program.thaw(func, function))
        thawed = [program.thaw(each, function) for each in args]
        given = {None if name == "**" else name: program.thaw(each, function) for name, each in keywords.items()}
        values: list[Value] = []
        if _donates_itself(callee):
            values = [value for _, value in _given_away(program, callee, thawed, given)]
        elif callee.function is not None and not callee.wraps and (names := donates(program, callee.function.id)):
            matched = program.matched(callee, thawed, given)
            values = [matched[name] for name in names if name in matched]
        found |= {each.data.name for each in values if each.op == "param" and each.data.function.id == id}
    known[id] = frozenset(found)
    return known[id]
