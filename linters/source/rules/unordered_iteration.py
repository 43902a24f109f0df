"""A traced function runs over a set of strings, whose order differs from process to process.

## What it does
Reports loops and comprehensions over a set of strings, or a list made of one, where what is done in that order ends up
in a traced program.

## Why is this bad?
The hash of a string is different in every process. The order of the set decides the order of the operations: the
hosts of a job compile different programs and hang or diverge, and the persistent compilation cache never hits
(https://github.com/jax-ml/jax/issues/16649, https://github.com/jax-ml/jax/issues/21236).

## Example
    @jax.jit
    def total(losses):
        result = 0.0
        for name in set(losses) - {"debug"}:
            result = result + losses[name]
        return result

## Use instead
    @jax.jit
    def total(losses):
        result = 0.0
        for name in sorted(set(losses) - {"debug"}):
            result = result + losses[name]
        return result

## What stays clean
`sorted()` of a set, membership, `len`, `any`, `all`, sets of numbers (their order is fixed), dictionaries (theirs too),
loops that only check or raise, sets of unknown things, code on the host.

## References
- https://docs.python.org/3/reference/datamodel.html#object.__hash__
- https://docs.jax.dev/en/latest/persistent_compilation_cache.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..concrete import is_sure
from ..facts import TRACERS, FileFacts
from ..records import Function, Loop, Record
from ..rule import Example, SourceRule
from ..values.value import Value, dotted

_SETS = frozenset({"builtins.set", "builtins.frozenset"})
_METHODS = frozenset({"union", "intersection", "difference", "symmetric_difference", "copy"})
_ORDERED = frozenset(
    {"builtins.list", "builtins.tuple", "builtins.enumerate", "builtins.iter", "builtins.zip", "builtins.map"}
)
_ORDER_FREE = frozenset(
    {
        "builtins.sorted",
        "builtins.any",
        "builtins.all",
        "builtins.min",
        "builtins.max",
        "builtins.set",
        "builtins.frozenset",
    }
)


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        for record, value in _runs(facts, function):
            text = facts.text(value.node or record.node)
            yield facts.finding(
                RULE,
                record.node,
                f"`{text}` is a set: its order, and the program's, differs in every process",
                subject=f"{function.name}: {text}",
                because=facts.why(function),
                help="run over sorted(...) of it",
                confidence="certain" if is_sure(traced) and _is_written(value) else "likely",
            )


def _is_written(value: Value) -> bool:
    """Whether a string of the set stands there: keys of a dictionary are strings nearly always, but not surely."""
    nodes = ast.walk(value.node) if value.node is not None else ()
    return any(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in nodes)


def _runs(facts: FileFacts, function: Function) -> Iterator[tuple[Record, Value]]:
    """Loops over sets whose rounds do something with arrays, and containers that are made of sets and run over."""
    free = _order_free(function)
    for loop in function.loops:
        if loop.iterable is None:
            continue
        value = _set_under(facts, loop.iterable)
        if value is None or (loop.kind == "comprehension" and _is_free(function, loop, free)):
            continue
        if _does_something(facts, function, loop):
            yield loop, value


def _set_under(facts: FileFacts, value: Value, depth: int = 4) -> Value | None:
    """The set of strings that an iterable gives the elements of, in the set's order."""
    while depth and value.op == "call" and dotted(value.data.func) in _ORDERED and value.data.args:
        value = value.data.args[0]
        depth -= 1
    return value if _is_set(facts, value) and _of_strings(facts, value) else None


def _is_set(facts: FileFacts, value: Value, depth: int = 6) -> bool:
    if not depth:
        return False
    if value.op == "set" or (value.op == "comp" and value.data == "set"):
        return True
    if value.op == "bin":
        return value.data in ("BitAnd", "BitOr", "BitXor", "Sub") and _is_set(facts, value.args[0], depth - 1)
    if value.op == "call":
        call = value.data
        if dotted(call.func) in _SETS:
            return True
        if call.func.op == "attr" and call.func.data in _METHODS:
            return _is_set(facts, call.func.args[0], depth - 1)
        made = facts.returned(value)
        return made is not None and _is_set(facts, made, depth - 1)
    if value.op == "updated":
        return _is_set(facts, value.args[0], depth - 1)
    if value.op == "name":
        target = facts.program.resolve(value.data)
        return target is not None and target.op != "name" and _is_set(facts, target, depth - 1)
    return value.op in ("phi", "loop") and all(
        _is_set(facts, each, depth - 1) for each in value.args if each is not value
    )


def _of_strings(facts: FileFacts, value: Value, depth: int = 6) -> bool:
    """Whether some element is surely a string: a literal, or a key of a pytree."""
    if not depth:
        return False
    op = value.op
    if op in ("set", "list", "tuple"):
        return any(_is_string(facts, each) for each in value.args)
    if op == "dict":
        return any(key is not None and _is_string(facts, key) for key in value.data)
    if op == "comp":
        return _is_string(facts, value.args[0]) or (
            value.args[0].op == "element" and _of_strings(facts, value.args[1], depth - 1)
        )
    if op == "bin" or op in ("phi", "loop"):
        return any(_of_strings(facts, each, depth - 1) for each in value.args if each is not value)
    if op == "updated":
        return _is_string(facts, value.args[1]) or _of_strings(facts, value.args[0], depth - 1)
    if op == "name":
        target = facts.program.resolve(value.data)
        return target is not None and target.op != "name" and _of_strings(facts, target, depth - 1)
    if op == "call":
        call = value.data
        if dotted(call.func) in _SETS:
            return bool(call.args) and _of_strings(facts, call.args[0], depth - 1)
        if call.func.op == "attr":
            base = call.func.args[0]
            if call.func.data in ("keys", "items"):
                return base.op != "dict" or _of_strings(facts, base, depth - 1)
            parts = (base, *call.args) if call.func.data in _METHODS else ()
            return any(_of_strings(facts, each, depth - 1) for each in parts)
        made = facts.returned(value)
        return made is not None and _of_strings(facts, made, depth - 1)
    # The elements of a traced tree that can be in a set at all are the keys of a dictionary.
    return facts.kind(value) == "traced"


def _is_string(facts: FileFacts, value: Value) -> bool:
    return value.op == "format" or (value.op == "const" and isinstance(value.data, str))


def _order_free(function: Function) -> list[ast.AST]:
    """Arguments of functions to which the order of their elements does not matter."""
    found: list[ast.AST] = []
    for call in function.calls:
        if dotted(call.func) in _ORDER_FREE:
            found += getattr(call.node, "args", ())
    return found


def _is_free(function: Function, loop: Loop, free: list[ast.AST]) -> bool:
    """Whether a comprehension makes a set, or what it makes is only asked without order."""
    for node in ast.walk(loop.statement) if loop.statement is not None else ():
        generators = getattr(node, "generators", ())
        if any(each.iter is loop.node for each in generators):
            return isinstance(node, ast.SetComp) or any(node is each for each in free)
    return False


def _does_something(facts: FileFacts, function: Function, loop: Loop) -> bool:
    """Whether a round makes or moves an array: its operations are in the program, in this order."""

    def inside(record: Record) -> bool:
        return loop in record.block.loops()

    return (
        any(inside(call) and facts.kind(call.result) in TRACERS for call in function.calls)
        or any(inside(each) and facts.kind(each.value) in TRACERS for each in function.arithmetic)
        or any(
            inside(store) and facts.kind(store.value) in TRACERS and store.kind != "name" for store in function.stores
        )
        or any(inside(item) and facts.kind(item.value) in TRACERS for item in function.items)
    )


BAD = (
    Example(
        "a loop, and a comprehension",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def total_loss(losses, weights):
            total = jnp.zeros(())
            for name in set(losses) & set(weights):  # bad
                total = total + weights[name] * losses[name]
            return total, [losses[name] * 2 for name in {"aux", "main"}]  # bad
        """,
        run="measured = jax.make_jaxpr(total_loss)(*[{c: 1.0 for c in ('main', 'aux', 'a', 'b')}] * 2)",
    ),
    Example(
        "the set of another file, in its order",
        """
        import jax
        from names import TERMS, wanted

        def combine(losses):
            result = 0.0
            for weight, name in enumerate(TERMS):  # bad
                result = result + weight * losses[name]
            for name in list(wanted({"z"})):  # bad
                result = result * losses[name]
            return result

        combined = jax.jit(combine)
        """,
        files={
            "names.py": """
            TERMS = frozenset(("main", "aux", "z"))

            def wanted(names):
                return names | {"main", "aux"}
            """
        },
        run="measured = jax.make_jaxpr(combined)({'main': 1.0, 'aux': 2.0, 'z': 3.0})",
    ),
    Example(
        "a set that grows, in the body of a scan",
        """
        from functools import partial
        import jax

        def roll(extra, params, xs):
            names = set(params.keys()) - {"c"}
            names.add("w")
            names.add("b")

            def body(carry, x):
                out = {}
                for name in names.union(["c"]):  # bad
                    out[name] = params[name] * x
                return carry, out

            return jax.lax.scan(body, 0.0, xs)

        rolled = jax.jit(partial(roll, None))
        """,
        run="import jax.numpy as jnp\nmeasured = jax.make_jaxpr(rolled)({'w': 1.0, 'b': 2.0, 'c': 3.0}, jnp.ones(2))",
    ),
)

GOOD = (
    Example(
        "sorted, membership, length, any",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def total(losses):
            wanted = {"main", "aux"}
            result = jnp.zeros(())
            for name in sorted(set(losses) | wanted):
                if name in losses:
                    result = result + losses[name]
            return result + len(wanted) + any(name in losses for name in wanted)
        """,
        run="measured = jax.make_jaxpr(total)({'main': 1.0, 'b': 2.0, 'c': 3.0})",
    ),
    Example(
        "dictionaries and sets of numbers",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def reduce(losses, x):
            for axis in set(range(x.ndim)) - {0}:
                x = x + x.shape[axis]
            for axis in {0, 1}:
                x = jnp.flip(x, axis)
            for name, value in losses.items():
                x = x + value
            for name in dict.fromkeys(["b", "a"]):
                x = x * 2
            return x
        """,
        run="measured = jax.make_jaxpr(reduce)({'a': 1.0}, jnp.ones((2, 2)))",
    ),
    Example(
        "a loop that only checks",
        """
        import jax

        @jax.jit
        def step(params, x):
            for name in {"w", "b"}:
                if name not in params:
                    raise KeyError(name)
            return x @ params["w"] + params["b"]
        """,
        run="import jax.numpy as jnp\nmeasured = jax.make_jaxpr(step)({'w': jnp.ones((2, 2)), 'b': 0.0}, jnp.ones(2))",
    ),
    Example(
        "on the host",
        """
        import jax

        norm = jax.jit(lambda x: x * x)

        def report(metrics):
            for name in set(metrics) - {"step"}:
                print(name, norm(metrics[name]))
        """,
        run="measured = report({'a': 1.0})",
    ),
)

RULE = SourceRule(
    code="JIT121",
    name="unordered-iteration",
    severity="warning",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
