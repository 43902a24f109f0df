"""Functions that are made anew each time the code comes by, and compiled anew with that."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .calling import PARTIAL
from .jits import given_by_keyword
from .pattern import Pattern
from .records import Block, Call, Function, Loop
from .traced import only_in_tests
from .transforms import COMPILES, WRAPPERS
from .values.assigned import assigned_in
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

_ONCE = Pattern(
    r"^_*(main|run_main|run$|init|initial|setup|set_up|build|create|make|get|load|restore|prepare|configure|compile|bench"
    r"|test|demo|example|plot|profile|export|convert|lower|warm|new|from_|post_init|train$|fit$|check|assert|verify"
    r"|debug|generate_data)"
)
_HOLDERS = ("phi", "loop", "tuple", "list", "dict", "attr", "star", "updated", "set")
_DEEPEST = 5
FEW = 12
"""A loop over so many constants is taken for a choice of variants."""


class Fresh:
    """A function object that is made anew whenever the code comes by: `what` it is, the `block` where it is made."""

    __slots__ = ("block", "value", "what")

    def __init__(self, what: str, block: Block | None, value: Value) -> None:
        self.what = what
        self.block = block
        self.value = value


def fresh(facts: FileFacts, value: Value, function: Function, depth: int = 0) -> Fresh | None:
    """What makes a function value a new object in each run of `function`; None where it lives longer, or is not known.

    JAX knows functions by identity and equality: a lambda, a function defined here, a partial and what a transform
    gives are equal to none that was made before.
    """
    if depth > 4:
        return None
    if value.op == "function":
        inner: Function = value.data
        if inner.parent is not function or inner.owner is not None:
            return None
        what = "a lambda made here" if inner.name.startswith("<") else f"{inner.name}(), a function made here"
        return Fresh(what, inner.defined_in, value)
    if value.op == "call":
        call: Call = value.data
        if call.function is not function:
            return None
        maker = facts.callee(call)
        if maker.wraps or maker.name is None:
            return None
        last = maker.name.rpartition(".")[2]
        if maker.name in PARTIAL or maker.name in WRAPPERS:
            if call.decorates is not None:
                return fresh(facts, call.args[0], function, depth + 1) if call.args else None
            given = call.args[0] if call.args else given_by_keyword(call)
            what = f"a {last} made here" if maker.name in PARTIAL else f"what {last} makes here"
            return Fresh(what, call.block, value) if given is not None else None
        if maker.function is not None and not _remembers(facts, maker.function.id):
            made = facts.returned(value)
            inner_one = facts.program.function(made.data) if made is not None and made.op == "ref" else None
            partial = made is not None and made.op == "call" and facts.callee(made.data.func).name in PARTIAL
            if partial or (inner_one is not None and inner_one.parent == maker.function.id):
                return Fresh(f"a function that {maker.function.name}() makes", call.block, value)
    return None


def _remembers(facts: FileFacts, id: str) -> bool:
    """Whether a decorator keeps what the function returned before."""
    function = facts.program.function(id)
    return function is not None and any("cache" in str(each) for each in function.data.get("d", ()))


def few_rounds(facts: FileFacts, iterable: Value | None) -> bool:
    """Whether a loop runs over a few elements that the code shows: a choice of variants, not a stream."""
    if iterable is None:
        return False
    if iterable.op in ("tuple", "list", "set", "dict", "const"):
        return True
    if iterable.op != "call" or dotted(iterable.data.func) != "builtins.range":
        name = dotted(iterable.data.func) if iterable.op == "call" else None
        if name in ("builtins.enumerate", "builtins.zip", "builtins.reversed", "itertools.product", "builtins.sorted"):
            return any(few_rounds(facts, each) for each in iterable.data.args)
        return False
    bounds = [facts.constant(each) for each in iterable.data.args]
    if not bounds or not all(type(each) is int for each in bounds):
        return False
    try:
        return len(range(*bounds)) <= FEW
    except (ValueError, OverflowError):
        return False


def few_counted(facts: FileFacts, loop: Loop) -> bool:
    """Whether a `while` counts from one number to another near by: `while i < 3`."""
    test = loop.test
    if test is None or test.op != "compare" or len(test.data) != 1:
        return False
    counter, bound = test.args if test.args[0].op == "loop" else reversed(test.args)
    if counter.op != "loop" or counter.data is not loop or counter.args[1].op != "bin":
        return False
    start, end = facts.constant(counter.args[0]), facts.constant(bound)
    steps = [facts.constant(each) for each in counter.args[1].args if each is not counter]
    if counter.args[1].data not in ("Add", "Sub") or any(type(each) is not int for each in (start, end, *steps)):
        return False
    return len(steps) == 1 and 0 < abs(end - start) <= FEW * abs(steps[0])


class Rebuilt:
    """A compiled function that is made from a fresh one: `what` is compiled, `call` makes it in `function`.

    `block` is where the fresh function itself is made.
    `captured` are the values round it that it depends on. `uses` are the calls of it in `function`; `escapes` says that
    it is returned, kept or handed on as well.
    """

    __slots__ = ("block", "call", "captured", "escapes", "function", "options", "uses", "what")

    def __init__(
        self, call: Call, what: str, captured: list[Value], options: Mapping[str, Value], block: Block | None = None
    ) -> None:
        self.call = call
        self.block = block or call.block
        self.function: Function = call.function
        self.what = what
        self.captured = captured
        self.options = options
        self.uses: list[Call] = []
        self.escapes = False

    def led(self, leads: _Leads) -> Rebuilt:
        """This, with what becomes of the compiled function."""
        made = id(self.call.result)
        self.uses = [each for each in leads.called.get(made, ()) if each is not self.call]
        self.escapes = made in leads.kept or any(each is not self.call for each in leads.given.get(made, ()))
        return self


class _Leads:
    """Where the values of a function lead, by their ids: which calls are of them (`called`), which are given them
    (`given`), and what outlives a run (`kept`). Worked out once: a module may compile thousands of functions."""

    __slots__ = ("called", "given", "kept")

    def __init__(self, function: Function, inner: list[Function]) -> None:
        self.called: dict[int, list[Call]] = {}
        self.given: dict[int, list[Call]] = {}
        for call in function.calls:
            of = self.given if _is_attribute(call.func) else self.called
            for each in _held([call.func]):
                of.setdefault(each, []).append(call)
            for each in _held([*call.args, *call.keywords.values()]):
                self.given.setdefault(each, []).append(call)
        self.kept = _held([each.value for each in function.returns if each.kind != "end"])
        self.kept |= _held([each.value for each in function.stores if each.kind != "name"])
        self.kept |= {id(read.value) for each in inner for read in each.reads}


def rebuilt(facts: FileFacts) -> Iterator[Rebuilt]:
    """The places of a file, on the host, where a compiled function is made anew on each run of the code."""
    nested: dict[Function, list[Function]] = {}
    for each in facts.functions:
        if each.parent is not None:
            nested.setdefault(each.parent, []).append(each)
    for function in facts.functions:
        traced = facts.traced(function)
        if traced is not None and (facts.is_test or not only_in_tests(traced)):
            continue
        leads: _Leads | None = None
        for call in function.calls:
            found = _rebuilt(facts, call, nested)
            if found is None:
                continue
            if leads is None:
                leads = _Leads(
                    function, [each for child in nested.get(function, ()) for each in _family(child, nested)]
                )
            yield found.led(leads)


def _rebuilt(facts: FileFacts, call: Call, nested: Mapping[Function, list[Function]]) -> Rebuilt | None:
    function = call.function
    maker = facts.callee(call)
    if maker.name in COMPILES and not maker.wraps:
        made = facts.callee(call.result)
        given = maker.bound[0] if maker.bound else call.argument(0) or given_by_keyword(call)
        if given is None or not made.wraps or made.wraps[0].value is not call.result:
            return None
        options = made.wraps[0].options
        if given.op == "attr" and made.bound and made.instance is not None:
            return Rebuilt(call, f"the bound method {made.name}", [given.args[0]], options)
        new = fresh(facts, given, function)
        return Rebuilt(call, new.what, captured(facts, given, nested), options, new.block) if new else None
    if maker.function is None or maker.wraps or maker.cls is not None:
        return None
    made = facts.callee(call.result)
    if made.jit is None or made.function is None or _remembers(facts, maker.function.id):
        return None
    returned = facts.returned(call.result)
    if returned is None or call.decorates is not None or not _is_new(facts, returned, maker.function.id):
        return None
    return Rebuilt(call, f"a function that {maker.function.name}() makes", [*call.args, *call.keywords.values()], {})


def _is_new(facts: FileFacts, value: Value, maker: str) -> bool:
    """Whether a value, as a function returns it, is on each path a compiled function of its own code, made just now.

    One that it keeps, in an attribute or a global, comes out on some path as that.
    """
    if value.op == "phi":
        return all(_is_new(facts, each, maker) for each in value.args)
    made = facts.callee(value)
    inner = facts.program.function(made.function.id) if made.function is not None else None
    return value.op == "call" and made.jit is not None and inner is not None and inner.parent == maker


def captured(facts: FileFacts, value: Value, nested: Mapping[Function, list[Function]]) -> list[Value]:
    """The values of the code round a fresh function that it depends on: closed over, or bound by partial."""
    found: list[Value] = []
    seen: set[int] = set()
    todo = [value]
    while todo:
        each = todo.pop()
        if id(each) in seen or len(seen) > 200:
            continue
        seen.add(id(each))
        if each.op == "function":
            family = list(_family(each.data, nested))
            found += _changing_globals(each.data)
            for inner in family:
                found += [read.value for read in inner.reads if _from_outside(read.value, family)]
                for call in inner.calls:
                    todo += [part for part in (call.func, *call.args, *call.keywords.values()) if part.op == "function"]
        elif each.op == "call" and (each is value or _wraps(facts, each)):
            made: Call = each.data
            todo += [part for part in (made.func, *made.args, *made.keywords.values())]
        elif each.op not in ("const", "name", "class", "ref"):
            found.append(each)
    return found


def _changing_globals(function: Function) -> list[Value]:
    """What a function made in a loop of the module's own code reads of the names that the loop changes, as unknown."""
    if function.parent is None or not function.parent.is_module or function.defined_in is None:
        return []
    changed: set[str] = set()
    for loop in function.defined_in.loops():
        if isinstance(loop.node, (ast.For, ast.AsyncFor, ast.While)):
            changed |= assigned_in([loop.node]).names
        elif loop.element is not None and loop.element.node is not None:
            changed |= assigned_in([], loop.element.node).names
    changed -= {each.name for each in function.parameters} | {function.name}
    read = {each.id for each in ast.walk(function.node) if isinstance(each, ast.Name) and each.id in changed}
    return [Value("unknown", function.node) for _ in read]


def _wraps(facts: FileFacts, value: Value) -> bool:
    """Whether a call makes one function of another one."""
    name = facts.callee(value.data.func).name
    return name in PARTIAL or name in WRAPPERS


def _family(function: Function, nested: Mapping[Function, list[Function]]) -> Iterator[Function]:
    """A function and all that are defined in it."""
    yield function
    for each in nested.get(function, ()):
        yield from _family(each, nested)


def _from_outside(value: Value, family: list[Function], depth: int = 0) -> bool:
    if depth > 8 or value.op in ("const", "name", "class", "ref", "function"):
        return False
    if value.op == "param":
        return value.data.function not in family
    if value.op == "call":
        return value.data.function not in family
    return any(_from_outside(each, family, depth + 1) for each in value.args)


def _held(values: list[Value]) -> set[int]:
    """The ids of values and of all that they hold, a few levels deep."""
    found: set[int] = set()
    level = values
    for _ in range(_DEEPEST + 1):
        level = [each for each in level if id(each) not in found]
        found.update(map(id, level))
        level = [part for each in level if each.op in _HOLDERS for part in each.args]
    return found


def _is_attribute(value: Value) -> bool:
    return value.op == "attr"


def comes_again(block: Block) -> Loop | None:
    """The innermost loop in whose next round this block may run again."""
    for loop in block.loops():
        if loop.once:
            continue
        for each in block.chain():
            if each.loop is not loop:
                break
            if each.ends in ("return", "break", "raise"):
                return None
        return loop
    return None


def fills_a_cache(block: Block) -> bool:
    """Whether a condition round it asks whether something is there already."""
    return any(_asks_presence(guard) for guard, arm in block.guards() if arm in ("then", "else"))


def _asks_presence(guard: Value, depth: int = 0) -> bool:
    if depth > 3:
        return False
    if guard.op == "compare":
        return any(each in ("In", "NotIn", "Is", "IsNot") for each in guard.data)
    if guard.op == "unary" or guard.op == "bool":
        return guard.op == "unary" or any(_asks_presence(each, depth + 1) for each in guard.args)
    return guard.op == "call" and dotted(guard.data.func) == "builtins.hasattr"


def runs_once(facts: FileFacts, function: Function) -> bool:
    """Whether a function is set-up code, by its name, or as only such code calls it."""
    if function.is_module or _ONCE.match(function.name):
        return True
    callers = facts.program.callers.get(function.id, ())
    names = {facts.program.function_data[caller][0]["n"] for caller, _, _ in callers}
    if names and all(name == "<module>" or _ONCE.match(name) for name in names):
        return True
    alone = len({caller for caller, _, _ in callers}) == 1 and function.name.startswith("_")
    return alone and _for_its_effect(facts, function)


def _for_its_effect(facts: FileFacts, function: Function) -> bool:
    """Whether the one call of a function, outside of loops, drops what it gives: a barrier at the end of a run, say."""
    calls = [
        call
        for other in facts.functions
        for call in other.calls
        if (callee := facts.callee(call)).function is not None and callee.function.id == function.id
    ]
    if len(calls) != 1 or calls[0].block.loop is not None:
        return False
    statement = calls[0].statement
    return isinstance(statement, ast.Expr) and statement.value is calls[0].node
