"""A compiled method reads an attribute that another method changes, and never sees the change.

## What it does
Finds methods that are compiled with `self` as a static argument, and methods compiled as `self._step =
jax.jit(self.step)`, that read an attribute (themselves, or through the methods they call) which another method, or
code that holds an instance, assigns or changes in place later on.

## Why is this bad?
What `self.rate` is becomes a constant of the program when the method is traced. With a static `self` the program is
kept for the object, which stays the same when its attribute changes, so the old number is used on, silently
(https://github.com/jax-ml/jax/issues/12773, https://github.com/jax-ml/jax/issues/13992).

## Example
    class Smoother:
        @partial(jax.jit, static_argnums=0)
        def apply(self, x, y):
            return self.rate * x + (1 - self.rate) * y

        def cool(self):
            self.rate = self.rate * 0.5

## Use instead
    class Smoother:
        @partial(jax.jit, static_argnums=0)
        def _apply(self, rate, x, y):
            return rate * x + (1 - rate) * y

        def apply(self, x, y):
            return self._apply(self.rate, x, y)

Or make the class a pytree (`jax.tree_util.register_dataclass`, `flax.struct.dataclass`, `equinox.Module`), so that
`self` is traced.

## What stays clean
Attributes that only `__init__` and what it calls set, that are filled in once (`if self.x is None: self.x = ...`),
and those that the compiled methods do not read; classes that define `__hash__` or `__eq__`; methods that compile anew
after the change.

## References
- https://docs.jax.dev/en/latest/faq.html#how-to-use-jit-with-methods
- https://github.com/jax-ml/jax/issues/12773
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..jits import HASHES, Jit, jits
from ..pattern import Pattern
from ..records import Class, Function, Store
from ..rule import Example, SourceRule
from ..values.value import Value

_SETS_UP = Pattern(
    r"^_*(init|setup|set_up|build|configure|compile|prepare|create|load|restore|from_|make|register|post_init|new"
    r"|setstate|initialize|initialise)"
)


def check(facts: FileFacts) -> Iterable[Finding]:
    methods = {each.id: each for each in facts.functions if each.owner is not None}
    for jit in jits(facts, HASHES):
        function = methods.get(jit.callee.function.id) if jit.callee.function is not None else None
        owner = function.owner if function is not None else None
        if function is None or owner is None or not function.parameters:
            continue
        if {"__hash__", "__eq__"} & set(owner.methods):
            continue
        first = function.parameters[0].name
        if jit.callee.bound:
            sure = False
            if not _is_kept(jit) or not _is_self(jit.callee.bound[0], owner):
                continue
        elif first in (facts.jit_options(jit.callee).static_names or ()):
            sure = True
        else:
            continue
        yield from _stale(facts, jit, function, owner, sure)


def _is_kept(jit: Jit) -> bool:
    """Whether what jit made is stored on an object: then it outlives the change."""
    return any(
        store.kind == "attribute" and store.value is jit.call.result and _is_parameter(store.base)
        for store in jit.function.stores
    )


def _is_parameter(value: Value | None) -> bool:
    return value is not None and value.op == "param" and value.data.index == 0


def _is_self(value: Value | None, owner: Class) -> bool:
    return _is_parameter(value) and value is not None and value.data.function.owner is owner


def _stale(facts: FileFacts, jit: Jit, function: Function, owner: Class, sure: bool) -> Iterator[Finding]:
    read = _attributes(facts, function, owner)
    for store, name in _changes(facts, owner):
        if name not in read or _inside(store.function, function) or _compiles_again(facts, jit, store.function):
            continue
        where = store.function.name if not store.function.is_module else "module code"
        yield facts.finding(
            RULE,
            jit.call.node,
            f"{owner.name}.{function.name} is compiled with the {name} of the first call: {where} changes it on "
            f"{facts.line(store.node)}, and the compiled program never sees that",
            subject=f"{owner.name}.{function.name}: {name}",
            help=f"pass {name} as an argument, or make {owner.name} a pytree and leave `self` traced",
            confidence="certain" if sure and store.kind == "attribute" else "likely",
        )
        return


def _attributes(facts: FileFacts, function: Function, owner: Class) -> set[str]:
    """The attributes of the instance that a method reads, itself or through other methods."""
    by_method: dict[Function, set[str]] = {}
    for each in facts.functions:
        for value in each.attributes:
            base = value.args[0]
            if _is_self(base, owner):
                by_method.setdefault(base.data.function, set()).add(value.data)
    found: set[str] = set()
    todo, seen = [function], {function.name}
    while todo:
        names = by_method.get(todo.pop(), set())
        found |= names
        for name in names & owner.methods.keys() - seen:
            seen.add(name)
            todo.append(owner.methods[name])
    return found - owner.methods.keys()


def _changes(facts: FileFacts, owner: Class) -> Iterator[tuple[Store, str]]:
    """Where an attribute of an instance is changed after it was made."""
    for function in facts.functions:
        method = next((each for each in function.chain() if each.owner is owner), None)
        if method is not None and _sets_up(facts, method):
            continue
        for store in function.stores:
            base = store.base
            if base is None:
                continue
            if store.kind == "attribute":
                name = store.name
            elif store.kind in ("item", "method") and base.op == "attr":
                name, base = base.data, base.args[0]
            else:
                continue
            if method is not None:
                mine = _is_self(base, owner)
            else:
                mine = base.op in ("param", "call") and facts.type_of(base) == owner.id and base.op == "call"
            if mine and not _fills_in(store, name):
                yield store, name


def _sets_up(facts: FileFacts, method: Function) -> bool:
    """Whether a method belongs to the making of an instance: by its name, or as only such methods call it."""
    if _SETS_UP.match(method.name):
        return True
    callers = facts.program.callers.get(method.id, ())
    names = {facts.program.function_data[caller][0]["n"] for caller, _, _ in callers}
    return bool(names) and all(_SETS_UP.match(name) for name in names)


def _fills_in(store: Store, name: str) -> bool:
    """Whether the change is guarded by a question about the attribute: it is made once."""
    return any(name in _names(guard) for guard, _ in store.block.guards())


def _names(value: Value, depth: int = 0) -> set[str]:
    found = {value.data} if value.op == "attr" else set()
    if depth < 4 and value.op in ("compare", "bool", "unary", "attr", "call"):
        for each in value.args if value.op != "call" else value.data.args:
            found |= _names(each, depth + 1)
        if value.op == "call":
            found |= {each.data for each in value.data.args if each.op == "const" and isinstance(each.data, str)}
    return found


def _inside(function: Function, method: Function) -> bool:
    return method in function.chain()


def _compiles_again(facts: FileFacts, jit: Jit, changer: Function) -> bool:
    """Whether the function that makes the change makes a new compiled function too, or empties the cache."""
    if jit.function is changer:
        return True
    names = {getattr(call.func, "data", None) for call in changer.calls}
    return "clear_cache" in names or "jax.clear_caches" in names or jit.function.name in names


BAD = (
    Example(
        "a rate that cools",
        """
        from functools import partial
        import jax


        class Mixer:
            def __init__(self, rate):
                self.rate = rate

            @partial(jax.jit, static_argnums=(0,))  # bad
            def mix(self, x, y):
                return self.rate * x + (1.0 - self.rate) * y

            def cool(self):
                self.rate *= 0.5
        """,
    ),
    Example(
        "read through a method that it calls",
        """
        from functools import partial
        import jax

        method = partial(jax.jit, static_argnames=("self",))


        class Walker:
            def __init__(self):
                self.table = {}

            def weight(self):
                return self.table.get("weight", 1.0)

            @method  # bad
            def walk(self, x):
                def advance(carry, _):
                    return carry * self.weight(), None

                return jax.lax.scan(advance, x, None, length=3)[0]

            def learn(self, name, value):
                self.table[name] = value
        """,
    ),
    Example(
        "a bound method, compiled once",
        """
        import jax


        class Agent:
            def __init__(self, epsilon):
                self.epsilon = epsilon
                self._act = jax.jit(self.act)  # bad

            def act(self, values):
                return values * (1.0 - self.epsilon)

            def decay(self):
                self.epsilon = self.epsilon * 0.99

            def __call__(self, values):
                return self._act(values)
        """,
    ),
    Example(
        "changed from outside",
        """
        import jax


        class Scaler:
            def __init__(self, factor):
                self.factor = factor

            def apply(self, x):
                return x * self.factor

            apply = jax.jit(apply, static_argnums=0)  # bad


        def main(x):
            scaler = Scaler(2.0)
            first = scaler.apply(x)
            scaler.factor = 3.0
            return first, scaler.apply(x)
        """,
    ),
)

GOOD = (
    Example(
        "set when the object is made",
        """
        from functools import partial
        import jax


        class Mixer:
            def __init__(self, rate):
                self._prepare(rate)
                self.calls = 0
                self.cache = None

            def _prepare(self, rate):
                self.rate = rate

            @partial(jax.jit, static_argnums=(0,))
            def mix(self, x, y):
                return self.rate * x + (1.0 - self.rate) * y + self.offset()

            def offset(self):
                if self.cache is None:
                    self.cache = 1.0
                return self.cache

            def __call__(self, x, y):
                self.calls += 1
                return self.mix(x, y)
        """,
    ),
    Example(
        "the changing value is an argument",
        """
        from functools import partial
        import jax


        class Mixer:
            def __init__(self, rate):
                self.rate = rate
                self._apply = jax.jit(self.apply)

            def apply(self, rate, x):
                return rate * x

            @partial(jax.jit, static_argnums=0)
            def mix(self, rate, x, y):
                return rate * x + (1.0 - rate) * y

            def cool(self, x, y):
                self.rate *= 0.5
                return self.mix(self.rate, x, self._apply(self.rate, y))
        """,
    ),
    Example(
        "a hash that knows of the change, and a new program after it",
        """
        from functools import partial
        import jax


        class Mixer:
            def __init__(self, rate):
                self.rate = rate

            def __hash__(self):
                return hash(self.rate)

            def __eq__(self, other):
                return self.rate == other.rate

            @partial(jax.jit, static_argnums=0)
            def mix(self, x):
                return self.rate * x

            def cool(self):
                self.rate *= 0.5


        class Agent:
            def __init__(self, epsilon):
                self.set(epsilon)

            def act(self, values):
                return values * self.epsilon

            def set(self, epsilon):
                self.epsilon = epsilon
                self._act = jax.jit(self.act)
        """,
    ),
    Example(
        "self is traced",
        """
        from dataclasses import dataclass
        from functools import partial
        import jax


        @partial(jax.tree_util.register_dataclass, data_fields=["rate"], meta_fields=[])
        @dataclass
        class Mixer:
            rate: float

            @jax.jit
            def mix(self, x):
                return self.rate * x

            def cool(self):
                self.rate *= 0.5
        """,
    ),
)

RULE = SourceRule(
    code="JIT108", name="mutable-static-self", severity="error", doc=__doc__ or "", check=check, bad=BAD, good=GOOD
)
