"""A Flax NNX module is used in a transformed function that it is no argument of.

## What it does
Reports a module, optimizer or metric of `flax.nnx` that a function under a transform takes from the code round it:
where it is surely written (its optimizer updates, a variable is assigned, dropout draws, batch statistics move),
under every transform; else under `jit`, where its weights become constants.

## Why is this bad?
NNX moves the state of modules in and out of a transform through arguments. Writing to one that came in another way
raises TraceContextError (https://github.com/google/flax/issues/3997). Reading one under `jit` freezes it: the program
keeps the weights of the first call, and training it further changes nothing, without a word
(https://github.com/google/flax/pull/4333).

## Example
    model = Model(nnx.Rngs(0))

    @nnx.jit
    def forward(x):
        return model(x)

## Use instead
    @nnx.jit
    def forward(model, x):
        return model(x)

## What stays clean
Modules that are arguments, or made inside; `nnx.split` and `nnx.merge`; reading an outer module under `grad`, `vmap` or
`scan` within a traced function; functions that nothing transforms. Measured with Flax 0.12.8 and 0.12.12. Later
releases may carry captured modules along (https://github.com/google/flax/pull/5490 proposes it for `nnx.jit`): in a
project that asks for a later one only, findings are likely, not certain.

## References
- https://flax.readthedocs.io/en/latest/guides/transforms.html
- https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html#flax.errors.TraceContextError
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..records import Class, Function, Record
from ..removals import declared
from ..rule import Example, SourceRule
from ..transforms import COMPILES
from ..values.value import Value

LATER = "0.12.13"
"""The first release of Flax that was not measured."""
_STATEFUL = frozenset({"Dropout", "BatchNorm", "Rngs", "RngStream", "SpectralNorm"})
_WRITES = {"Optimizer": ("update",), "ModelAndOptimizer": ("update",), "MultiMetric": ("update", "reset"),
    "Average": ("update", "reset"), "Accuracy": ("update", "reset"), "Metric": ("update", "reset")}  # fmt: skip
_NO_MODULES = frozenset({"State", "GraphDef", "Variable", "Param", "VariableState", "List", "Dict", "Sequential"})


def check(facts: FileFacts) -> Iterable[Finding]:
    measured = not declared(facts.program.options.requirements, "flax").always(LATER)
    for function, traced in facts.traced_functions():
        if not traced.direct or function.is_module:
            continue
        compiles = traced.transform in COMPILES and not _in_traced(facts, function)
        seen: set[tuple[int, bool]] = set()
        for record, base, writes in _uses(facts, function):
            kind = _module(facts, base)
            if kind is None or not _is_outer(function, base) or not (writes or compiles):
                continue
            if (id(base), writes) in seen or (not writes and (id(base), True) in seen):
                continue
            seen.add((id(base), writes))
            name = _name(facts, base, record)
            what = "is written" if writes else "is read, and its state becomes a constant of the program"
            yield facts.finding(
                RULE,
                record.node,
                f"`{name}` is no argument of the function that {traced.transform} transforms, and {what}",
                subject=f"{function.name}: {name}",
                because=facts.why(function),
                help="pass the module as an argument of the transformed function",
                severity="error" if writes else "warning",
                confidence="certain" if writes and measured else "likely",
            )


def _in_traced(facts: FileFacts, function: Function) -> bool:
    return any(facts.traced(each) is not None for each in list(function.chain())[1:] if not each.is_module)


def _uses(facts: FileFacts, function: Function) -> Iterator[tuple[Record, Value, bool]]:
    """Where an object is called or stored into: the record, the object, whether that surely writes to it."""
    for store in function.stores:
        base = store.base
        if base is not None and store.kind in ("attribute", "item"):
            depth = 8
            while depth and base.op in ("attr", "item", "updated"):
                base, depth = base.args[0], depth - 1
            yield store, base, True
    for call in function.calls:
        func = call.func
        if func.op == "attr":
            depth, base = 8, func.args[0]
            while depth and base.op in ("attr", "item"):
                base, depth = base.args[0], depth - 1
            direct = func.args[0] is base
            yield call, base, direct and _method_writes(facts, base, func.data)
        else:
            yield call, func, _method_writes(facts, func, "__call__")


def _module(facts: FileFacts, value: Value) -> str | None:
    """The class of an NNX object, as an id or dotted name; None for anything else."""
    if value.op not in ("call", "param"):
        return None
    kind = facts.type_of(value)
    if kind is None:
        return None
    if kind in facts.program.class_data:
        return kind if facts.program.module_kind(kind) == "flax.nnx.Module" else None
    last = kind.rpartition(".")[2]
    return kind if kind.startswith("flax.nnx.") and last[:1].isupper() and last not in _NO_MODULES else None


def _method_writes(facts: FileFacts, value: Value, method: str) -> bool:
    """Whether calling this method of the object changes its state."""
    kind = _module(facts, value)
    if kind is None:
        return False
    if kind in facts.program.class_data:
        found = next((each for each in facts.classes if each.id == kind), None)
        return found is not None and _writes_itself(facts, found, method)
    last = kind.rpartition(".")[2]
    return (
        method in _WRITES.get(last, ()) or (last in _STATEFUL and method == "__call__") or last in ("Rngs", "RngStream")
    )


def _writes_itself(facts: FileFacts, cls: Class, method: str) -> bool:
    """Whether a method of a class of this file assigns to a variable or attribute of `self`."""
    function = cls.methods.get(method)
    if function is None:
        return False
    for store in function.stores:
        base, depth = store.base, 8
        if base is None or store.kind not in ("attribute", "item"):
            continue
        while depth and base.op in ("attr", "item", "updated"):
            base, depth = base.args[0], depth - 1
        if base.op == "param" and base.data.function is function and base.data.index == 0:
            return True
    return False


def _is_outer(function: Function, base: Value) -> bool:
    """Whether an object was made, or came in, outside of the transformed function."""
    owner = base.data.function
    return owner is not function and owner in list(function.chain())[1:]


def _name(facts: FileFacts, base: Value, record: Record) -> str:
    if base.op == "param":
        return base.data.name
    for each in record.function.reads:
        if each.value is base:
            return facts.text(each.node)
    return facts.text(base.node) if base.node is not None else "a module"


BAD = (
    Example(
        "a module of the file, frozen under jit",
        """
        from flax import nnx
        import jax.numpy as jnp

        class Model(nnx.Module):
            def __init__(self, rngs):
                self.dense = nnx.Linear(2, 2, rngs=rngs)

            def __call__(self, x):
                return self.dense(x)

        model = Model(nnx.Rngs(0))

        @nnx.jit
        def forward(x):
            return model(x)  # bad
        """,
        run=(
            "before = forward(jnp.ones((1, 2)))\n"
            "model.dense.kernel[...] = model.dense.kernel[...] * 0\n"
            "assert (forward(jnp.ones((1, 2))) == before).all() and (model(jnp.ones((1, 2))) != before).any()"
        ),
    ),
    Example(
        "a counter that is written",
        """
        from functools import partial
        from flax import nnx
        import jax
        import jax.numpy as jnp

        class Counter(nnx.Module):
            def __init__(self):
                self.count = nnx.Variable(jnp.array(0))

            def __call__(self, x):
                self.count[...] = self.count[...] + 1
                return x * 2

        def make(counter: Counter):
            def step(scale, x):
                return counter(x) * scale  # bad

            return nnx.jit(partial(step, 2.0))

        def total(xs):
            counter = Counter()
            return jax.vmap(lambda x: counter(x))(xs)  # bad
        """,
        raises="TraceContextError",
        run="make(Counter())(1.0)",
    ),
    Example(
        "the optimizer of another file's model",
        """
        from flax import nnx
        import optax
        from models import Model

        def train(x):
            model = Model(nnx.Rngs(0))
            optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

            @nnx.jit
            def step(model, x):
                grads = nnx.grad(lambda m: m(x).sum())(model)
                optimizer.update(model, grads)  # bad

            step(model, x)
        """,
        files={
            "models.py": """
            from flax import nnx

            class Model(nnx.Module):
                def __init__(self, rngs):
                    self.dense = nnx.Linear(2, 2, rngs=rngs)

                def __call__(self, x):
                    return self.dense(x)
            """
        },
        raises="TraceContextError",
        run="import jax.numpy as jnp\ntrain(jnp.ones((1, 2)))",
    ),
)

GOOD = (
    Example(
        "modules as arguments",
        """
        from flax import nnx
        import jax.numpy as jnp
        import optax

        class Model(nnx.Module):
            def __init__(self, rngs):
                self.dense = nnx.Linear(2, 2, rngs=rngs)
                self.drop = nnx.Dropout(0.5, rngs=rngs)

            def __call__(self, x):
                return self.drop(self.dense(x))

        @nnx.jit
        def step(model, optimizer, x):
            def loss(model):
                return model(x).sum()

            optimizer.update(model, nnx.grad(loss)(model))

        def train(x):
            model = Model(nnx.Rngs(0))
            optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
            step(model, optimizer, x)
            return model(x)
        """,
        run="train(jnp.ones((1, 2)))",
    ),
    Example(
        "made inside, or merged",
        """
        from functools import partial
        from flax import nnx
        import jax
        import jax.numpy as jnp

        @nnx.jit
        def create():
            model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
            model(jnp.ones((1, 2)))
            return model

        @partial(jax.jit, static_argnums=0)
        def run(graph, state, x):
            return nnx.merge(graph, state)(x)

        def forward(model, x):
            graph, state = nnx.split(model)
            return run(graph, state, x)
        """,
        run="forward(create(), jnp.ones((1, 2)))",
    ),
    Example(
        "read under grad, within a traced function",
        """
        from flax import nnx
        import jax.numpy as jnp

        @nnx.jit
        def input_gradient(model: nnx.Linear, x):
            return nnx.grad(lambda y: model(y).sum())(x)

        def host(x):
            model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
            return nnx.grad(lambda y: model(y).sum())(x), input_gradient(model, x)
        """,
        run="host(jnp.ones((1, 2)))",
    ),
    Example(
        "modules of other libraries, which are values",
        """
        import flax.linen as nn
        import jax
        import jax.numpy as jnp

        model = nn.Dense(2)

        @jax.jit
        def forward(params, x):
            return model.apply(params, x)

        def train(x):
            params = model.init(jax.random.key(0), x)
            return forward(params, x)
        """,
        run="train(jnp.ones((1, 2)))",
    ),
)

RULE = SourceRule(
    code="JIT116",
    name="module-closure",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
