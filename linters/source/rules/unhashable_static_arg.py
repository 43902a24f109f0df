"""A static argument of a compiled function cannot be hashed.

## What it does
Looks at every call of a function that is compiled with `static_argnums` or `static_argnames`, and at what it is given
there: dicts, lists, sets and what holds them, arrays and tracers, instances of dataclasses that are not frozen, of
classes with `__eq__` but no `__hash__`, and of frozen ones with such a field. A method compiled with a static `self`
is reported where its class has no hash.

## Why is this bad?
Static arguments are part of the key under which the compiled program is kept, so JAX hashes them and raises
ValueError at the first call where it cannot (https://github.com/google/flax/issues/587,
https://github.com/jax-ml/jax/issues/3701).

## Example
    @partial(jax.jit, static_argnames="config")
    def forward(params, x, config):
        return x @ params * config["scale"]

    forward(params, x, config={"scale": 2.0})

## Use instead
    @dataclass(frozen=True)
    class Config:
        scale: float

    forward(params, x, config=Config(scale=2.0))

Tuples instead of lists and `frozenset` instead of sets do as well; an array belongs among the traced arguments.

## What stays clean
Tuples, strings, numbers, enumerations, functions, frozen dataclasses with hashable fields, objects with the hash that
every class has by default, and what an argument is that the code does not show.

## References
- https://docs.jax.dev/en/latest/jit-compilation.html#marking-arguments-as-static
- https://github.com/google/flax/issues/587
- https://github.com/jax-ml/jax/issues/6233
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..concrete import is_met
from ..facts import FileFacts
from ..hashing import unhashable, unhashable_class
from ..jits import HASHES, jits, static_arguments
from ..records import Call, Class
from ..rule import Example, SourceRule
from ..values.value import Value


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            if call.decorates is not None or is_met(facts, call, (ValueError,)):
                continue
            for name, value in static_arguments(facts, call):
                what = unhashable(facts.program, value)
                if what is not None:
                    yield _finding(facts, call, name, value, what)
    yield from _static_selves(facts)


def _finding(facts: FileFacts, call: Call, name: str, value: Value, what: str) -> Finding:
    callee = facts.callee(call)
    shown = callee.function.name if callee.function is not None else facts.text(call.node.func)  # type: ignore[attr-defined]
    which = f"argument {name}" if name.isdigit() else f"`{name}`"
    place = (facts.traced(call.function) and facts.why(call.function)) or ()
    return facts.finding(
        RULE,
        call.node,
        f"{which} of {shown} is static and gets {what}, which cannot be hashed",
        subject=f"{call.function.name}: {shown} {name}",
        because=place if "traced" in what else (),
        help="an array is no static argument: pass it as a traced one"
        if "array" in what
        else "give a tuple, a frozen dataclass, or another value with a hash",
        confidence="likely" if value.op in ("param", "attr") else "certain",
    )


def _static_selves(facts: FileFacts) -> Iterable[Finding]:
    for jit in jits(facts, HASHES):
        function = jit.callee.function
        owner = getattr(function, "owner", None)
        if function is None or owner is None or jit.callee.bound or jit.call.decorates is None:
            continue
        first = function.parameters[0].name if function.parameters else ""
        if first not in (facts.jit_options(jit.callee).static_names or ()):
            continue
        what = unhashable_class(facts.program, owner.id if isinstance(owner, Class) else owner)
        if what is not None:
            yield facts.finding(
                RULE,
                jit.call.node,
                f"`{first}` of {function.name} is static, but it is {what}: every call raises",
                subject=f"{function.name}: {first}",
                help="freeze the class, or register it as a pytree and leave `self` traced",
            )


_CALLS = """
from functools import partial
import jax
import jax.numpy as jnp


@partial(jax.jit, static_argnums=(1,))
def init(key, sizes):
    return [jax.random.normal(each, (size,)) for each, size in zip(jax.random.split(key, len(sizes)), sizes)]
"""

BAD = (
    Example(
        "a list where the sizes are static",
        _CALLS
        + """

def main():
    sizes = [8, 16]
    return init(jax.random.key(0), sizes)  # bad
""",
        raises="ValueError",
        run="main()",
    ),
    Example(
        "lists that are joined, repeated, unpacked",
        _CALLS
        + """

def main(more):
    return (
        init(jax.random.key(0), [8] + more),  # bad
        init(jax.random.key(0), [8] * 3),  # bad
        init(*(jax.random.key(0), [8])),  # bad
        init(jax.random.key(0), "8 16".split()),  # bad
    )


@partial(jax.jit, static_argnames=("sizes",))
def named(key, *, sizes):
    return jax.random.normal(key, sizes)


def by_keyword():
    options = {"sizes": [8, 16]}
    return named(jax.random.key(0), **options)  # bad
""",
        raises="ValueError",
        run="main([16])",
    ),
    Example(
        "a dict that a helper makes, by keyword",
        """
        import jax


        def options(width):
            return {"width": width, "depth": 2}


        def apply(x, *, config):
            return x * config["depth"]


        compiled = jax.jit(apply, static_argnames=("config",))


        def evaluate(x):
            chosen = options(4)
            return compiled(x, config=chosen)  # bad
        """,
        raises="ValueError",
        run="evaluate(1.0)",
    ),
    Example(
        "a dataclass that is not frozen, compiled in another file",
        """
        from dataclasses import dataclass
        from steps import step


        @dataclass
        class Schedule:
            rate: float = 0.1
            warmup: int = 10


        def train(x):
            schedule = Schedule(rate=0.5)
            return step(x, schedule)  # bad
        """,
        raises="ValueError",
        run="train(1.0)",
        files={
            "steps.py": """
            import functools
            import jax

            static = functools.partial(jax.jit, static_argnums=1)


            @static
            def step(x, schedule):
                return x * schedule.rate
            """
        },
    ),
    Example(
        "a frozen dataclass that holds a list",
        """
        import dataclasses
        import jax


        @dataclasses.dataclass(frozen=True)
        class Shape:
            sizes: tuple = ()
            names: list = dataclasses.field(default_factory=list)


        @jax.jit
        def plain(x):
            return x


        reshape = jax.jit(lambda x, shape: x.reshape(shape.sizes), static_argnames=["shape"])


        def first(x):
            return reshape(plain(x), Shape(sizes=[2, 2], names=("a", "b")))  # bad


        def second(x):
            return reshape(x, shape=Shape((2, 2)))  # bad
        """,
        raises="ValueError",
        run="import jax.numpy as jnp\nfirst(jnp.ones(4))",
    ),
    Example(
        "an array, and a tracer",
        """
        import jax
        import jax.numpy as jnp


        def _take(x, index):
            return x[index]


        take = jax.jit(_take, static_argnums=1)


        def pick(x):
            return take(x, jnp.argmax(x))  # bad


        @jax.jit
        def pick_traced(x):
            return take(x, jnp.argmax(x))  # bad
        """,
        raises="ValueError",
        run="pick_traced(jnp.ones(3))",
    ),
    Example(
        "a static self without a hash",
        """
        from dataclasses import dataclass
        from functools import partial
        import jax


        @dataclass
        class Model:
            scale: float = 2.0

            @partial(jax.jit, static_argnums=0)  # bad
            def apply(self, x):
                return x * self.scale
        """,
        raises="ValueError",
        run="Model().apply(1.0)",
    ),
)

GOOD = (
    Example(
        "tuples, strings, enumerations, functions",
        _CALLS
        + """

import enum


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


@partial(jax.jit, static_argnames=("mode", "activation", "name"))
def forward(x, mode, activation=jnp.tanh, name="block"):
    return activation(x) if mode is Mode.FAST else x


def main():
    layers = init(jax.random.key(0), (8, 16))
    layers = init(jax.random.key(1), tuple([8, 16]))
    return [forward(x, Mode.FAST, activation=jnp.sin, name="first") for x in layers]
""",
        run="main()",
    ),
    Example(
        "classes with a hash",
        """
        import dataclasses
        import functools
        import jax


        @dataclasses.dataclass(frozen=True)
        class Frozen:
            sizes: tuple = (2, 2)
            options: dict = dataclasses.field(default_factory=dict, hash=False)


        @dataclasses.dataclass(eq=False)
        class Identity:
            names: list = dataclasses.field(default_factory=list)


        @dataclasses.dataclass
        class Own:
            names: list

            def __hash__(self):
                return hash(tuple(self.names))


        class Plain:
            def __init__(self):
                self.names = []


        @functools.partial(jax.jit, static_argnames="config")
        def scale(x, config):
            return x * len(str(type(config)))


        def main(x):
            return scale(x, Identity()) + scale(x, config=Own(["a"])) + scale(x, Plain()) + scale(x, config=Frozen())
        """,
        run="main(1.0)",
    ),
    Example(
        "lists and dicts among the traced arguments",
        """
        import jax
        import jax.numpy as jnp


        @jax.jit
        def total(tree, weights):
            return sum(w * leaf for w, leaf in zip(weights, tree.values()))


        clip = jax.jit(lambda tree, limit: jax.tree.map(lambda x: x * limit, tree), static_argnums=(1,))


        def main():
            tree = {"a": jnp.ones(2), "b": jnp.zeros(2)}
            return clip(tree, 3.0), total(tree, [1.0, 2.0])
        """,
        run="main()",
    ),
    Example(
        "a default that is not passed",
        """
        from functools import partial
        import jax


        @partial(jax.jit, static_argnames=("options",))
        def apply(x, options={}):
            return x * (1 + len(options))


        def main(x, settings):
            return apply(x) + apply(x, options=settings)
        """,
        run="main(1.0, (1,))",
    ),
    Example(
        "static numbers of a method count self",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp


        class Table:
            @partial(jax.jit, static_argnums=(0, 2))
            def lookup(self, values, width):
                return values[0] * width


        def main():
            table = Table()
            return table.lookup([jnp.ones(3)], 3) + table.lookup([jnp.ones(3), jnp.ones(3)], width=2)
        """,
        run="main()",
    ),
    Example(
        "a list that must be refused",
        _CALLS
        + """
import pytest


def refused():
    with pytest.raises(ValueError, match="static"):
        init(jax.random.key(0), [8, 16])
""",
        run="refused()",
    ),
)

RULE = SourceRule(
    code="JIT106", name="unhashable-static-arg", severity="error", doc=__doc__ or "", check=check, bad=BAD, good=GOOD
)
