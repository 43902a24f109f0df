"""A value of a traced function is put where it outlives the trace.

## What it does
Reports, in traced functions, values of array operations that are stored in a global, in a list, dictionary or object
made outside of the trace, in a `nonlocal` name of a function that is not traced, or on `self` of a plain class.

## Why is this bad?
The function runs once, while it is traced; what it stores is a tracer, which is dead afterwards. Its first use raises
UnexpectedTracerError, often far away (https://github.com/jax-ml/jax/issues/3086,
https://github.com/jax-ml/jax/pull/13022). Later calls run the compiled program and store nothing at all.

## Example
    losses = []

    @jax.jit
    def step(params, batch):
        loss = jnp.mean((batch @ params) ** 2)
        losses.append(loss)
        return params - loss

## Use instead
    @jax.jit
    def step(params, batch):
        loss = jnp.mean((batch @ params) ** 2)
        return params - loss, loss

    params, loss = step(params, batch)
    losses.append(loss)

What has to leave in the middle goes through `jax.debug.callback`.

## What stays clean
Containers and objects made in the trace, a function's own carry and arguments, shapes and other static values, methods
of Flax, Equinox and Haiku modules, methods of objects that the trace itself makes, pytree arguments, host functions.

## References
- https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError
- https://docs.jax.dev/en/latest/control-flow.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ....contracts.finding import Finding
from ..concrete import is_sure, may_be_concrete
from ..facts import TRACERS, FileFacts
from ..records import Function, Store
from ..rule import Example, SourceRule
from ..values.value import Value

_GROWS = frozenset({"append", "extend", "appendleft", "insert", "setdefault"})
_FREE = frozenset({"__init__", "__post_init__", "__new__", "setup", "__setstate__", "tree_unflatten"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        for store in function.stores:
            if store.kind == "name" or _is_functional(store) or not facts.held(store.value) & TRACERS:
                continue
            place = _outlives(facts, function, store)
            if place is None or may_be_concrete(facts, store):
                continue
            yield facts.finding(
                RULE,
                store.node,
                f"a tracer is stored in {place}, which outlives the trace",
                subject=f"{function.name}: {facts.text(store.node)}",
                because=facts.why(function),
                help="return the value from the traced function, or hand it out with jax.debug.callback",
                confidence="certain" if is_sure(traced) and "array" in facts.held(store.value) else "likely",
            )


def _is_functional(store: Store) -> bool:
    """Whether what a method like `update` gives back is used: those of containers give nothing."""
    if store.kind != "method" or store.name == "setdefault":
        return False
    return not isinstance(store.statement, ast.Expr) or store.statement.value is not store.node


def _outlives(facts: FileFacts, function: Function, store: Store) -> str | None:
    """The thing that is stored into, where it is older than the trace; None where it is not, or not known."""
    if store.kind == "global":
        return f"the global `{store.name}`"
    if store.kind == "nonlocal":
        owner = _owner_of_name(function, store.name)
        return f"`{store.name}` of {owner.name}()" if owner is not None and _outside(facts, function, owner) else None
    if store.base is None:
        return None
    base = _root(store.base, store.kind == "item")
    if base is None:
        return None
    if base.op == "param":
        owner = base.data.function
        if owner is function:
            return _self(facts, function, store, base)
        if not isinstance(owner, Function) or not _outside(facts, function, owner):
            return None
        grows = store.kind == "method" and store.name in _GROWS
        return f"`{base.data.name}` of {owner.name}()" if grows or not _is_module_object(facts, base) else None
    made = _maker(facts, base)
    if made is None or made is function or not _outside(facts, function, made):
        return None
    if store.kind == "attribute" and _is_module_object(facts, base):
        return None
    where = "the module" if made.is_module else f"{made.name}()"
    return f"what {where} made outside of it"


def _root(value: Value, into_item: bool, depth: int = 12) -> Value | None:
    """The object that a chain of attributes, items and changes starts from.

    An element of a list or tuple may be a reference of a kernel, which is written by `ref[index] = v`.
    """
    while depth:
        depth -= 1
        if into_item and value.op == "item" and not isinstance(value.args[1].data, str):
            return None
        if value.op in ("updated", "attr", "item", "loop"):
            value = value.args[0]
        elif value.op == "phi":
            roots = [_root(each, into_item, depth - 1) for each in value.args[:4]]
            return roots[0] if all(root is roots[0] for root in roots) else None
        else:
            return value
    return None


def _maker(facts: FileFacts, base: Value) -> Function | None:
    """The function of this file in whose code an object is made: a container, or the instance of a class."""
    if base.op in ("list", "dict", "set", "comp") and base.node is not None:
        return _at(facts, base)
    if base.op == "call":
        call = base.data
        callee = facts.callee(call)
        name = callee.name or ""
        if callee.cls is None and name.rpartition(".")[2] not in _CONTAINERS:
            return None
        return call.function if isinstance(call.function, Function) else None
    return None


_CONTAINERS = frozenset({"list", "dict", "set", "defaultdict", "OrderedDict", "deque", "SimpleNamespace"})


def _at(facts: FileFacts, value: Value) -> Function | None:
    """The innermost function round a node."""
    line = getattr(value.node, "lineno", None)
    if line is None:
        return None
    column = value.node.col_offset  # type: ignore[union-attr]
    best = facts.functions[0]
    for each in facts.functions[1:]:
        node = each.node
        begin = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        if begin <= (line, column) < end and begin >= (best.line, getattr(best.node, "col_offset", 0)):
            best = each
    return best


def _owner_of_name(function: Function, name: str) -> Function | None:
    """The enclosing function that a nonlocal name belongs to."""
    for each in list(function.chain())[1:]:
        if each.parameter(name) is not None:
            return each
        if any(store.kind == "name" and store.name == name for store in each.stores):
            return each
    return None


def _outside(facts: FileFacts, function: Function, owner: Function) -> bool:
    """Whether `owner`, a function round this one, runs outside of the trace, or a transform lies between."""
    if owner.is_module:
        return True
    chain = list(function.chain())
    if owner not in chain:
        return False
    between = chain[: chain.index(owner)]
    if facts.traced(owner) is None:
        return True
    return any((traced := facts.traced(each)) is not None and traced.direct for each in between)


def _self(facts: FileFacts, function: Function, store: Store, base: Value) -> str | None:
    """`self.x = v` in a method that is itself handed to a transform: of a class that is no pytree and no Module."""
    traced = facts.traced(function)
    owner = function.owner
    if owner is None or base.data.index != 0 or traced is None or not traced.direct or function.name in _FREE:
        return None
    if traced.parameters.get(base.data.name) == "traced" or not _is_plain(facts, owner.id):
        return None
    return "`self`"


def _is_plain(facts: FileFacts, id: str) -> bool:
    """Whether a class derives from nothing, and no decorator makes a pytree of it."""
    found = facts.program.class_(id)
    if found is None or found.data["d"] or facts.program.module_kind(id) is not None:
        return False
    return all(each in facts.program.class_data or each in _PLAIN for each in facts.program.lineage(id))


_PLAIN = frozenset({"builtins.object", "abc.ABC", "typing.Protocol", "typing.Generic"})


def _is_module_object(facts: FileFacts, base: Value) -> bool:
    """Whether a value may be a Module, whose attributes a library carries in and out of the trace."""
    kind = facts.type_of(base)
    return kind is None or kind not in facts.program.class_data or not _is_plain(facts, kind)


BAD = (
    Example(
        "a list and a dictionary of the module",
        """
        import jax
        import jax.numpy as jnp

        activations = []
        last = {}

        @jax.jit
        def layer(x, w):
            h = jnp.tanh(x @ w)
            activations.append(h)  # bad
            last["h"] = h  # bad
            return h
        """,
        raises="UnexpectedTracerError",
        run="layer(jnp.ones((2, 2)), jnp.ones((2, 2))); activations[0] + 1",
    ),
    Example(
        "in a helper of another file",
        """
        import jax
        from record import note

        @jax.jit
        def step(x):
            return note(x * 2)
        """,
        files={
            "record.py": """
            import jax.numpy as jnp

            seen = {"norms": []}

            def note(x):
                seen["norms"].append(jnp.linalg.norm(x))  # bad
                return x
            """
        },
        raises="UnexpectedTracerError",
        run="import jax.numpy as jnp, record\nstep(jnp.ones(2)); record.seen['norms'][0] + 1",
    ),
    Example(
        "a global, and a name of the function round it",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        best = None

        def update(scale, x):
            global best
            best = jnp.max(x) * scale  # bad
            return x - best

        stepped = jax.jit(partial(update, 2.0))

        def make(seen):
            @jax.jit
            def note(x):
                seen.append(x * 2)  # bad
                return x

            return note

        def train(xs):
            total = 0.0

            def body(carry, x):
                nonlocal total
                total = total + jnp.sum(x)  # bad
                return carry, x

            jax.lax.scan(body, 0.0, xs)
            return total
        """,
        raises="UnexpectedTracerError",
        run="train(jnp.ones((3, 2))) + 1",
    ),
    Example(
        "self of a class whose method is jitted",
        """
        import jax
        import jax.numpy as jnp

        class Trainer:
            def __init__(self, rate):
                self.rate = rate
                self.loss = None
                self.history = []
                self.step = jax.jit(self._step)

            def _step(self, params, batch):
                loss = jnp.mean((batch @ params) ** 2)
                self.loss = loss  # bad
                self.history.append(loss)  # bad
                return params - self.rate * loss
        """,
        raises="UnexpectedTracerError",
        run="t = Trainer(0.1); t.step(jnp.ones(2), jnp.ones((2, 2))); t.loss + 1",
    ),
    Example(
        "the body of a loop inside a traced function",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def simulate(xs):
            trace = []

            def body(carry, x):
                carry = carry + jnp.sin(x)
                trace.append(carry)  # bad
                return carry, None

            total, _ = jax.lax.scan(body, 0.0, xs)
            return total, trace[0] * 2
        """,
        raises="UnexpectedTracerError",
        run="simulate(jnp.ones(3))",
    ),
)

GOOD = (
    Example(
        "containers of the trace",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def forward(params, x):
            hidden, aux = [], {"norm": 0.0}

            def keep(h):
                hidden.append(jnp.sum(h))
                return h

            for w in params:
                x = keep(jnp.tanh(x @ w))
                hidden.append(x)
                aux["norm"] += jnp.vdot(x, x)
            aux.update(last=x)
            return hidden, aux

        class Buffer:
            def insert(self, state, x):
                return state + x.sum()

        buffer = Buffer()

        @jax.jit
        def collect(state, x):
            state = buffer.insert(state, x * 2)
            return state

        def make(steps):
            def schedule(count):
                nonlocal steps
                steps, count = jax.tree.map(lambda v: float(v) if isinstance(v, int) else v, (steps, count))
                return jnp.minimum(count, steps)

            return jax.jit(schedule)

        def accumulate(xs):
            def body(carry, x):
                carry["total"] = carry["total"] + x.sum()
                return carry, None

            return jax.lax.scan(body, {"total": 0.0}, xs)
        """,
        run=(
            "forward([jnp.ones((2, 2))], jnp.ones((1, 2))); accumulate(jnp.ones((3, 2)))\n"
            "collect(0.0, jnp.ones(2)); make(3)(jnp.ones(()))"
        ),
    ),
    Example(
        "static values, and callbacks",
        """
        import jax
        import jax.numpy as jnp

        shapes = []
        seen = []

        @jax.jit
        def step(x):
            shapes.append(x.shape)

            def keep(value):
                seen.append(jnp.asarray(value))

            jax.debug.callback(keep, x.sum())
            return x + len(shapes)
        """,
        run="step(jnp.ones(2)); jax.effects_barrier(); seen[0] + 1",
    ),
    Example(
        "modules, and objects made in the trace",
        """
        import jax
        import jax.numpy as jnp
        from flax import nnx

        class Counter(nnx.Module):
            def __init__(self):
                self.count = nnx.Variable(jnp.array(0))
                self.last = nnx.data(jnp.zeros(()))

            def __call__(self, x):
                self.count[...] = self.count[...] + 1
                self.last = x.sum()
                return x * 2

        class Tape:
            def __init__(self, start):
                self.total = start

            def add(self, x):
                self.total = self.total + jnp.sum(x)

        @nnx.jit
        def step(counter, x):
            tape = Tape(jnp.zeros(()))
            tape.add(counter(x))
            return tape.total
        """,
        run="step(Counter(), jnp.ones(2))",
    ),
    Example(
        "on the host",
        """
        import jax
        import jax.numpy as jnp

        history = []
        norm = jax.jit(lambda x: jnp.sqrt(jnp.sum(x * x)))

        class Log:
            def write(self, x):
                self.last = norm(x)
                history.append(self.last)

        def train(xs):
            log = Log()
            for x in xs:
                log.write(x)
            return log.last + 1
        """,
        run="train(jnp.ones((2, 3)))",
    ),
)

RULE = SourceRule(
    code="JIT104",
    name="leaked-tracer",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
