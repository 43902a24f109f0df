"""A state starts with a weakly typed number, and comes back strongly typed: the step compiles twice.

## What it does
Reports `jnp.asarray(0.0)`, `jnp.array(0.0)` and `jnp.full(shape, 0.0)` without a dtype where they start a field of a
state whose next value is mixed with other arrays, and the first value (also a Python number) of what a loop passes
through a jitted function.

## Why is this bad?
An array made of a Python number alone is weakly typed: it takes the type of what it is combined with. The first result
is strongly typed, so the second call has another signature, and all is traced and compiled again, in silence, on step
two (https://github.com/google-deepmind/optax/issues/1440, https://github.com/google/jaxopt/issues/451). Whether the
step's output has the type of its input is exact in a trace: `contract-lint verify`.

## Example
    def init():
        return State(count=jnp.zeros([], jnp.int32), average=jnp.asarray(0.0))

## Use instead
    def init():
        return State(count=jnp.zeros([], jnp.int32), average=jnp.zeros([], jnp.float32))

## What stays clean
Numbers with a dtype, `jnp.zeros` and `jnp.ones`, fields that only count (`state.count + 1` stays weak), states made in
compiled code and carries of `scan` (they are promoted), states that methods of equinox modules make (solvers run them
in one compiled loop).

## References
- https://docs.jax.dev/en/latest/type_promotion.html#weakly-typed-values-in-jax
- https://github.com/google-deepmind/optax/pull/1175
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..jits import Jit, jits
from ..records import Call, Function
from ..rule import Example, SourceRule
from ..values.value import Value

_FROM_NUMBER = {"jax.numpy.asarray": 0, "jax.numpy.array": 0, "jax.numpy.full": 1}
_COPIES = frozenset({"replace", "_replace", "update"})
_COMPILED_LOOPS = (".scan", ".while_loop", ".fori_loop")
DEEPEST = 10


def check(facts: FileFacts) -> Iterable[Finding]:
    told: set[int] = set()
    for node, value, message in (*_fields(facts), *_loops(facts)):
        if id(value) not in told:
            told.add(id(value))
            yield facts.finding(
                RULE,
                node,
                message,
                help="give it a dtype (jnp.zeros((), jnp.float32)); contract-lint verify compares the types of state "
                "in and out",
            )


def _is_weak(facts: FileFacts, value: Value) -> bool:
    """Whether it is an array made of a Python float without a dtype."""
    if value.op != "call":
        return False
    call: Call = value.data
    name = facts.callee(call).name
    if name not in _FROM_NUMBER or "dtype" in call.keywords:
        return False
    at = _FROM_NUMBER[name]
    number = call.argument(at, "fill_value" if at else "a")
    return len(call.args) <= at + 1 and number is not None and type(facts.constant(number)) is float


def _fields(facts: FileFacts) -> Iterator[tuple[Any, Value, str]]:
    """Fields of states that start weak and are mixed with other arrays later."""
    made: dict[str, list[tuple[Call, dict[str, Value]]]] = {}
    renewed: dict[str, list[Value]] = {}
    for function in facts.functions:
        for call in function.calls:
            if call.func.op == "attr" and call.func.data in _COPIES:
                for name, value in call.keywords.items():
                    if name is not None:
                        renewed.setdefault(name, []).append(value)
            cls = facts.callee(call).cls if call.decorates is None else None
            if cls is not None:
                made.setdefault(cls, []).append((call, _by_field(facts, cls, call)))
    for calls in made.values():
        for call, fields in calls:
            traced = facts.traced(call.function)
            if (traced is not None and traced.staged) or _is_solver(facts, call.function) or _is_carry(facts, call):
                continue
            for name, value in fields.items():
                if not _is_weak(facts, value):
                    continue
                others = [each[name] for other, each in calls if other is not call and name in each]
                others += renewed.get(name, ())
                if any(_mixes(facts, each, name) for each in others):
                    message = f"{name} starts as a weakly typed number and comes back with a type of its own"
                    yield value.node, value, message


def _is_solver(facts: FileFacts, function: Function) -> bool:
    """Whether it is a method of an equinox module: solvers make their states in the compiled loop that runs them."""
    owner = function.owner
    return owner is not None and any(each.startswith("equinox.") for each in facts.program.lineage(owner.id))


def _is_carry(facts: FileFacts, made: Call) -> bool:
    """Whether a state is handed to a compiled loop."""
    for call in made.function.calls:
        name = facts.callee(call).name
        if name is not None and name.endswith(_COMPILED_LOOPS):
            given = (*call.args, *call.keywords.values())
            if any(each is made.result or (each.op == "tuple" and made.result in each.args) for each in given):
                return True
    return False


def _by_field(facts: FileFacts, cls: str, call: Call) -> dict[str, Value]:
    own = next((each for each in facts.classes if each.id == cls), None)
    known = facts.program.class_data.get(cls)
    names = list(own.annotations) if own is not None else list(known[0]["t"]) if known is not None else []
    found = dict(zip(names, call.args, strict=False)) if not any(each.op == "star" for each in call.args) else {}
    return found | {name: value for name, value in call.keywords.items() if name is not None}


def _mixes(facts: FileFacts, value: Value, name: str) -> bool:
    """Whether a new value of a field is made of more than numbers and the old one."""
    if value.op not in ("bin", "call", "phi", "unary") or _is_weak(facts, value):
        return False
    return any(not (each.op == "attr" and each.data == name) for each in _ingredients(facts, value, 0))


def _ingredients(facts: FileFacts, value: Value, depth: int) -> Iterator[Value]:
    """The arrays that arithmetic is made of; functions, constants and static values left out."""
    op = value.op
    if depth > DEEPEST or op in ("const", "name", "function", "class", "ref", "unknown", "compare"):
        return
    if op in ("bin", "unary", "phi", "bool"):
        for each in value.args:
            yield from _ingredients(facts, each, depth + 1)
    elif op == "call":
        call: Call = value.data
        if _is_weak(facts, value):
            return
        callee = facts.callee(call)
        if callee.name is not None and callee.name.startswith(("jax.", "optax.")) and call.args:
            given = call.args[1:] if callee.name.endswith(("where", "cond", "map")) else call.args
            for each in given:
                yield from _ingredients(facts, each, depth + 1)
        elif callee.name is not None and not callee.name.startswith("."):
            yield value
        elif call.func.op == "attr":
            yield from _ingredients(facts, call.func.args[0], depth + 1)
    elif op == "param" and _is_setting(value):
        return
    elif facts.kind(value) != "static":
        yield value


def _is_setting(value: Value) -> bool:
    """Whether a parameter has a number as its default: a rate or a decay, most likely given as a Python number."""
    default = value.data.default
    return default is not None and default.op == "const" and type(default.data) in (int, float, bool)


def _loops(facts: FileFacts) -> Iterator[tuple[Any, Value, str]]:
    """First values of what a loop on the host passes through a jitted function."""
    compiled = {id(jit.wrapped.value): jit for jit in jits(facts)}
    for function in facts.host_functions():
        for call in function.calls:
            wrapped = facts.callee(call).jit
            jit = compiled.get(id(wrapped.value)) if wrapped is not None else None
            if jit is None:
                continue
            for parameter, value in facts.arguments(call).items():
                if value.op != "loop" or value.args[0] is value:
                    continue
                first, last = value.args
                number = first.op == "const" and type(first.data) is float
                if not number and not _is_weak(facts, first):
                    continue
                if _comes_back_mixed(facts, jit, call, last, parameter):
                    what = "a Python number" if number else "a weakly typed number"
                    message = f"{parameter} is {what} in the first round, an array with a type of its own after it"
                    yield first.node or call.node, first, message


def _comes_back_mixed(facts: FileFacts, jit: Jit, call: Call, last: Value, parameter: str) -> bool:
    at = None
    if last.op == "item" and last.args[0] is call.result and last.args[1].op == "const":
        at = last.args[1].data
    elif last is not call.result:
        return False
    function = _live(facts, jit)
    if function is None or function.is_generator:
        return False
    for each in function.returns:
        leaf = each.value
        if at is not None:
            if leaf.op != "tuple" or not isinstance(at, int) or at >= len(leaf.args):
                return False
            leaf = leaf.args[at]
        found = list(_ingredients(facts, leaf, 0))
        own = [part for part in found if part.op == "param" and part.data.name == parameter]
        if not own or len(own) == len(found):
            return False
    return True


def _live(facts: FileFacts, jit: Jit) -> Function | None:
    id = jit.callee.function.id if jit.callee.function is not None else None
    return next((each for each in facts.functions if each.id == id), None)


BAD = (
    Example(
        "a field of a state",
        """
        from typing import NamedTuple
        import jax
        import jax.numpy as jnp

        class State(NamedTuple):
            count: jax.Array
            average: jax.Array
            best: jax.Array

        def init():
            return State(jnp.zeros([], jnp.int32), jnp.asarray(0.0), best=jnp.full((), 1e9))  # bad

        @jax.jit
        def update(state, value):
            average = 0.9 * state.average + 0.1 * value
            return State(state.count + 1, average, best=jnp.minimum(state.best, value))
        """,
        run="""
state = init()
for _ in range(3):
    state = update(state, jnp.ones(()))
assert update._cache_size() == 2
""",
    ),
    Example(
        "a dataclass of another file, renewed with replace",
        """
        import jax
        import jax.numpy as jnp
        from states import Tracker

        start = jnp.array(1.5)  # bad

        def create():
            return Tracker(scale=start, steps=jnp.zeros((), jnp.int32))

        def track(tracker, loss):
            return tracker.replace(scale=jnp.where(loss > 0, tracker.scale * loss, tracker.scale))
        """,
        files={
            "states.py": """
            import jax
            from flax import struct

            @struct.dataclass
            class Tracker:
                scale: jax.Array
                steps: jax.Array
            """
        },
    ),
    Example(
        "through a loop of steps",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        @partial(jax.jit, donate_argnums=())
        def step(total, params, batch):
            return total + jnp.sum(batch * params), params

        def run(params, batches):
            total = 0.0  # bad
            weight = jnp.asarray(0.5)  # bad
            for batch in batches:
                total, params = step(total, params, batch)
                weight, _ = step(weight, params, batch)
            return total, weight
        """,
        run="""
run(jnp.ones(2), [jnp.ones(2)] * 3)
assert step._cache_size() == 3
""",
    ),
)

GOOD = (
    Example(
        "typed, or only counted",
        """
        from typing import NamedTuple
        import jax
        import jax.numpy as jnp

        class State(NamedTuple):
            count: jax.Array
            average: jax.Array
            scale: jax.Array

        def init():
            return State(jnp.asarray(0.0), jnp.zeros([]), scale=jnp.asarray(1.0, jnp.float32))

        @jax.jit
        def update(state, value):
            return State(state.count + 1.0, 0.9 * state.average + value, scale=state.scale * value)
        """,
        run="""
state = init()
for _ in range(3):
    state = update(state, jnp.ones(()))
assert update._cache_size() == 1
""",
    ),
    Example(
        "a carry is promoted",
        """
        from typing import NamedTuple
        import jax
        import jax.numpy as jnp

        class Carry(NamedTuple):
            total: jax.Array

        def mean(xs):
            def body(carry, x):
                return Carry(carry.total + x), None

            carry, _ = jax.lax.scan(body, Carry(jnp.asarray(0.0)), xs)
            return carry.total / len(xs)

        def loop(xs):
            total = jnp.zeros(())
            for x in xs:
                total = add(total, x)
            return total

        add = jax.jit(lambda total, x: total + x)
        """,
        run="mean(jnp.ones(3))\nloop([jnp.ones(())] * 2)",
    ),
    Example(
        "a solver that is run in a compiled loop",
        """
        from typing import NamedTuple
        import equinox as eqx
        import jax
        import jax.numpy as jnp

        class SearchState(NamedTuple):
            size: jax.Array

        class Search(eqx.Module):
            decrease: float

            def init(self):
                return SearchState(size=jnp.array(1.0))

            def step(self, ratio, state):
                return SearchState(size=state.size * ratio)
        """,
    ),
    Example(
        "a setting that no step changes",
        """
        from typing import NamedTuple
        import jax
        import jax.numpy as jnp

        class Settings(NamedTuple):
            rate: jax.Array

        def defaults():
            return Settings(rate=jnp.asarray(0.1))

        def override(rate):
            return Settings(rate=rate)

        @jax.jit
        def move(settings, params, grads):
            return params - settings.rate * grads
        """,
        run="move(defaults(), jnp.ones(2), jnp.ones(2))",
    ),
    Example(
        "numbers that stay on the host, and a result that is not passed on",
        """
        import jax
        import jax.numpy as jnp

        measure = jax.jit(lambda scale, x: scale * x.sum())

        def run(xs):
            seconds = 0.0
            rate = 0.5
            for x in xs:
                seconds = seconds + 1.5
                loss = measure(rate, x)
                rate = rate * 0.5
            return loss, seconds
        """,
        run="run([jnp.ones(2)] * 3)",
    ),
)

RULE = SourceRule(
    code="JIT119",
    name="weak-typed-state",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
