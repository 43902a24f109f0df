"""An element of a JAX array is assigned in place.

## What it does
Reports `x[index] = value` and `x[index] += value` where `x` is surely a JAX array: the result of an array operation,
in a traced function or on the host, an argument of a traced function (or part of one) that is indexed as only arrays
are or has methods called that only arrays have, what the same function also updates with `.at[...]`, or an attribute
that its class declares to be an array or stores one in.

## Why is this bad?
JAX arrays are immutable: the statement raises TypeError (https://github.com/jax-ml/jax/issues/101,
https://github.com/jax-ml/jax/issues/2219). It is the first thing that code moved over from NumPy stumbles on.

## Example
    out = jnp.zeros(3)
    out[0] = 1.0
    out[1:] += 2.0

## Use instead
    out = jnp.zeros(3)
    out = out.at[0].set(1.0)
    out = out.at[1:].add(2.0)

The fix writes this. In a compiled program nothing is copied: the update happens in place.

## What stays clean
NumPy arrays and what may be one, dictionaries and lists; references in Pallas kernels and variables of Flax, written
with `[...]`; arguments that may be a dictionary or a list; whatever is not known to be an array.

## References
- https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#in-place-updates
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ....contracts.finding import Edit, Finding, Fix
from ..arrays import is_array, is_indexed_as_array, is_used_as_array, may_be_numpy
from ..concrete import may_be_concrete
from ..facts import FileFacts
from ..records import Function, Store
from ..rule import Example, SourceRule
from ..values.value import Value

_UPDATES = {"Add": "add", "Mult": "multiply", "Div": "divide", "Pow": "power"}
_OPERATORS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Pow": "**", "FloorDiv": "//", "Mod": "%",
    "MatMult": "@", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>"}  # fmt: skip


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for store in function.stores:
            if store.kind != "item" or store.base is None or store.index is None:
                continue
            if may_be_numpy(facts, store.base):
                continue
            sure = is_array(facts, store.base)
            if (
                not sure
                and not is_indexed_as_array(facts, store.base, store.index)
                and not is_used_as_array(facts, store)
            ):
                continue
            if may_be_concrete(facts, store):
                continue
            base = facts.text(store.node.value)  # type: ignore[attr-defined]
            yield facts.finding(
                RULE,
                store.node,
                f"`{base}` is a JAX array: its elements cannot be assigned",
                subject=f"{function.name}: {facts.text(store.node)}",
                because=facts.why(function),
                help=f"write {base} = {base}.at[...].{_UPDATES.get(store.augmented or '', 'set')}(...)",
                confidence="certain" if sure else "likely",
                fix=_fix(facts, function, store, sure),
            )


def _fix(facts: FileFacts, function: Function, store: Store, sure: bool) -> Fix | None:
    """`x = x.at[index].set(value)`: safe where it surely is an array, no other name can stand for the same one, and
    none of it is lost.
    """
    statement, target = store.statement, store.node
    if not isinstance(statement, (ast.Assign, ast.AugAssign)) or not isinstance(target, ast.Subscript):
        return None
    if isinstance(statement, ast.Assign) and (len(statement.targets) > 1 or statement.targets[0] is not target):
        return None
    own = isinstance(target.value, ast.Name) and _is_own(function, target.value.id)
    if not own and not isinstance(target.value, ast.Attribute):
        return None  # an assignment would make a name of this function's own
    base, index, value = (_code(facts, each) for each in (target.value, target.slice, statement.value))
    if "(" in base or "[" in base or "#" in _code(facts, statement) or isinstance(statement.value, ast.Yield):
        return None
    simple = store.index is not None and _is_simple(facts, store.index)
    update, value = _update(store.augmented, f"{base}[{index}]", value, simple, statement.value)
    edit = Edit(facts.location(statement), f"{base} = {base}.at[{index}].{update}({value})")
    return Fix(f"use .at[].{update}()", (edit,), safe=sure and own and simple and not _has_alias(function, store))


def _update(operator: str | None, element: str, value: str, simple: bool, node: ast.expr) -> tuple[str, str]:
    """The method of `.at[]` and its argument. An index that may name an element twice adds it once, as in NumPy."""
    grouped = (
        value if isinstance(node, (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)) else f"({value})"
    )
    if operator is None:
        return "set", value if not isinstance(node, ast.Tuple) else grouped
    if simple and operator in _UPDATES:
        return _UPDATES[operator], value
    if simple and operator == "Sub":
        return "add", f"-{grouped}"
    return "set", f"{element} {_OPERATORS[operator]} {grouped}"


def _code(facts: FileFacts, node: ast.AST) -> str:
    place = facts.location(node)
    start = facts.source.offset(place.line or 1, place.column or 1)
    end = facts.source.offset(place.end_line or 1, place.end_column or 1)
    return facts.source.text[start:end]


def _is_simple(facts: FileFacts, index: Value) -> bool:
    """Whether an index surely names no element twice: numbers and slices known while tracing."""
    parts = index.args if index.op == "tuple" else (index,)
    return all(part.op == "slice" or (part.op != "list" and facts.kind(part) == "static") for part in parts)


def _is_own(function: Function, name: str) -> bool:
    stores = [each for each in function.stores if each.kind in ("name", "global", "nonlocal") and each.name == name]
    return all(each.kind == "name" for each in stores) and (bool(stores) or function.parameter(name) is not None)


def _has_alias(function: Function, store: Store) -> bool:
    """Whether the array also has another name, or lies in a container: there, it would have changed too."""
    base = store.base
    while base is not None and base.op == "updated":
        base = base.args[0]
    names = {each.name for each in function.stores if each.kind == "name" and each.value is base}
    return len(names) > 1 or any(each.value is base and each.kind != "name" for each in function.stores)


BAD = (
    Example(
        "arrays made here, in a traced function and on the host",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def fill(x):
            out = jnp.zeros(3)
            out[0] = x.sum()  # bad
            out[1:] += 2.0  # bad
            return out

        def host(positions: jax.Array):
            angles = positions[:, 0].astype("float32") * 0.5
            angles[0] = 1.0  # bad
            table = jnp.arange(4) * 2
            table[table > 2] = 0  # bad
            return table
        """,
        raises="TypeError",
        run="fill(jnp.ones(2))",
    ),
    Example(
        "what a helper of another file gives",
        """
        import jax
        from shapes import padded

        def shift(x):
            y = padded(x)
            y[..., 0] -= x[0] * 2  # bad
            return y

        shifted = jax.vmap(shift)
        """,
        files={
            "shapes.py": """
            import jax.numpy as jnp

            def padded(x):
                return jnp.pad(x, 1)
            """
        },
        raises="TypeError",
        run="import jax.numpy as jnp\nshifted(jnp.ones((2, 3)))",
    ),
    Example(
        "bodies of loops, indices that are tracers, what else is updated as an array is",
        """
        import jax
        import jax.numpy as jnp
        from flax import struct
        from jax import lax

        @struct.dataclass
        class State:
            q: jax.Array
            names: dict

        def solve(weights, x, rounds):
            def body(i, carry):
                x, total = carry
                x[i] = x[i] * 0.5  # bad
                total["sum"] = x.sum()
                return x, total

            return lax.fori_loop(0, rounds, body, (x, {"sum": weights.sum()}))

        def observe(state: State, flip):
            position = state.q
            position[1] = 0.0  # bad
            state.names["flip"] = flip
            return position

        def place(rows, values, first):
            if first:
                values[0] = 1.0  # bad
            return values.at[1].set(rows[0])

        @jax.jit
        def spread(potential, used, delta):
            at = jnp.where(used, 0, 1)
            potential[at] += delta  # bad
            return potential
        """,
        raises="TypeError",
        run="observe(State(jnp.ones(3), {}), True)",
    ),
    Example(
        "in a loop, an attribute, an argument indexed like an array",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        def place(offset, target):
            q = offset.start + jax.random.uniform(jax.random.key(0), (3,))
            q = q.at[0].set(1.0)
            q[1:] = target  # bad
            return q

        class Board:
            def __init__(self, size):
                self.cells = jnp.zeros((size, size))
                self.cells[0, 0] = 1.0  # bad

        def smooth(rounds, x):
            y = jnp.tanh(x)
            for i in range(rounds):
                y[i] = y[i] * 0.5  # bad
            x[:, 0] = 0.0  # bad
            return x + y

        smoothed = jax.jit(partial(smooth, 2))
        """,
        raises="TypeError",
        run="smoothed(jnp.ones((2, 2)))",
    ),
)

GOOD = (
    Example(
        "the functional update",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def fill(x):
            out = jnp.zeros(3)
            out = out.at[0].set(x.sum())
            out = out.at[1:].add(2.0)
            parts = jnp.split(jnp.arange(4.0), 2)
            parts[1] = out
            parts = [out, out * 2]
            parts[0] = out - 1
            named = {"a": out}
            named["b"] = out * x[0]
            return out, parts, named
        """,
        run="fill(jnp.ones(2))",
    ),
    Example(
        "NumPy arrays",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        apply = jax.jit(lambda x: x * 2)

        def batches(data, size):
            for i in range(0, len(data), size):
                batch = np.zeros((size, 2))
                batch[: len(data[i : i + size])] = 1.0
                out = np.array(apply(jnp.asarray(batch)))
                out[0, :] = 0.0
                yield out
        """,
        run="list(batches(np.ones((4, 2)), 2))",
    ),
    Example(
        "code for NumPy and for JAX",
        """
        import jax.numpy as jnp
        import numpy as np

        def first(count, use_jax):
            xp = jnp if use_jax else np
            out = xp.zeros(count)
            if use_jax:
                out = out.at[0].set(1.0)
            else:
                out[0] = 1.0
            return out

        def last(values, on_device):
            if on_device:
                values = values.at[-1].set(0.0)
            else:
                values[-1] = 0.0
            return values

        def clear(values, as_jax):
            table = jnp.asarray(values) if as_jax else np.array(values)
            if not as_jax:
                table[:] = 0.0
                return table
            return table.at[:].set(0.0)
        """,
        run="first(2, False), first(2, True), last(np.ones(2), False), clear([1.0], False)",
    ),
    Example(
        "arguments that may be trees",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def step(state, batch):
            state["step"] = state["step"] + 1
            batch[0] = batch[0] * 2
            carry = jax.tree.map(jnp.tanh, state)
            carry["loss"] = batch[0].sum()
            return carry, batch
        """,
        run="step({'step': jnp.zeros(())}, [jnp.ones(2), 1.0])",
    ),
    Example(
        "elements by their keys, and tables of the host",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def scaled(params, rate):
            for name in params:
                params[name] = params[name] * rate
            for at, layer in enumerate(params["layers"]):
                params["layers"][at] = layer + 1
            return params

        def fill(table: np.ndarray, rows):
            for at in range(len(rows)):
                table[at] = rows[at]
            return jnp.asarray(table)
        """,
        run="fill(np.zeros(2), [1.0, 2.0])",
    ),
    Example(
        "a reference in a kernel, a variable of a module",
        """
        from typing import NamedTuple
        import jax
        import jax.numpy as jnp
        from flax import nnx
        from jax.experimental import pallas as pl

        def kernel(x_ref: jax.Array, o_ref: jax.Array):
            o_ref[...] = x_ref[...] * 2
            o_ref[0, :] = jnp.zeros(x_ref.shape[1])
            view = o_ref.at[0].reshape(8, 16)
            view[0, :] = 1.0

        class Metadata(NamedTuple):
            offsets: jax.Array

        def plan(meta_ref: Metadata, sizes_ref):
            def body(i, total):
                meta_ref.offsets[i] = total
                return total + sizes_ref[i]

            jax.lax.fori_loop(0, 8, body, 0)

        def double(x):
            return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

        class Counter(nnx.Module):
            def __init__(self):
                self.count = nnx.Variable(jnp.array(0))

            def __call__(self, x):
                self.count[...] = self.count[...] + 1
                return x
        """,
        run="Counter()(1)",
    ),
)

RULE = SourceRule(
    code="JIT114",
    name="array-item-assignment",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    fix="safe",
)
