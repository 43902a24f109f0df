"""Which values are one JAX array, as far as code tells: made by an operation, declared, or used as only arrays are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .apis import ARRAY_ATTRIBUTES, ARRAY_METHODS, SURE_ARRAY_METHODS, result_of
from .records import Call, Store
from .together import together
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

_SEVERAL = frozenset(
    {
        "load", "split", "array_split", "hsplit", "vsplit", "dsplit", "meshgrid", "broadcast_arrays", "unstack",
        "gradient", "nonzero", "where", "ix_", "atleast_1d", "atleast_2d", "atleast_3d", "top_k", "sort", "svd",
        "eigh", "qr", "slogdet", "histogram", "histogram2d", "modf", "divmod", "frexp", "unique",
        "tril_indices", "triu_indices", "diag_indices", "unravel_index", "lstsq", "eig", "reduce",
        "sort_key_val", "indices", "ogrid", "mgrid", "run_state", "lu", "load_ref",
    }
)  # fmt: skip
"""Functions of JAX that may give a tuple or a list."""
_TYPES = frozenset({"jax.Array", "jax.numpy.ndarray", "chex.Array", "jaxtyping.Array"})
_AT = frozenset({"set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply", "get"})


def is_array(facts: FileFacts, value: Value, depth: int = 8, rounds: tuple[Value, ...] = ()) -> bool:
    """Whether a value is surely one JAX array, traced or not: no tree of them, no list, no NumPy array.

    `rounds` are values of loops round this one: those that come back to them are what they were before.
    """
    if value in rounds:
        return True
    if not depth:
        return False
    op = value.op
    rounds = (*rounds, value) if op == "loop" else rounds
    if op == "updated":
        return value.data == "item" and is_array(facts, value.args[0], depth - 1, rounds)
    if op in ("phi", "loop"):
        return all(is_array(facts, each, depth - 1, rounds) for each in value.args)
    if op == "bin":
        return facts.kind(value) == "array" or any(is_array(facts, each, depth - 1, rounds) for each in value.args)
    if op == "param":
        # Kernels take references, and call them arrays too.
        return not may_be_reference(facts, value) and dotted(value.data.annotation) in _TYPES
    if op == "item" or (op == "attr" and value.data in ARRAY_ATTRIBUTES):
        return is_array(facts, value.args[0], depth - 1, rounds)
    if op != "call":
        return facts.kind(value) == "array"
    callee = facts.callee(value.data)
    name = callee.name or ""
    if callee.wraps:
        return False
    if callee.function is not None:
        made = facts.returned(value)
        return made is not None and is_array(facts, made, depth - 1, rounds)
    if name.startswith("."):
        base = value.data.func.args[0] if value.data.func.op == "attr" else None
        if base is None:
            return False
        if base.op == "item" and base.args[0].op == "attr" and base.args[0].data == "at":
            return name[1:] in _AT  # those of `ref.at[index]` in kernels are others
        return name[1:] in ARRAY_METHODS and is_array(facts, base, depth - 1, rounds)
    return result_of(name) == "array" and name.startswith("jax.") and name.rpartition(".")[2] not in _SEVERAL


def is_given_arrays(facts: FileFacts, parameter: Value) -> bool:
    """Whether each traced call of a helper of this file, all in it, gives a parameter an array: a flag made of one."""
    function = parameter.data.function
    traced = facts.traced(function)
    callers = {caller for caller, _, _ in facts.program.callers.get(function.id, ())}
    if function.owner is not None and function.decorators:
        return False  # which argument comes first depends on what the decorators make of it
    if traced is None or traced.direct or any(each.partition(":")[0] != facts.module.name for each in callers):
        return False
    given = [
        facts.arguments(call).get(parameter.data.name)
        for caller in facts.functions
        if caller.id in callers and facts.traced(caller) is not None
        for call in caller.calls
        if (callee := facts.callee(call)).function is not None and callee.function.id == function.id
    ]
    return bool(given) and all(each is not None and _is_made_array(facts, each) for each in given)


def _is_made_array(facts: FileFacts, value: Value) -> bool:
    """Whether an operation on tracers gave one array."""
    if facts.kind(value) != "array":
        return False
    if value.op == "call" and not (facts.callee(value.data).name or "").startswith("."):
        return is_array(facts, value)
    return value.op in ("call", "compare", "unary", "bin")


def is_indexed_as_array(facts: FileFacts, base: Value, index: Value) -> bool:
    """An argument of a traced function, or a part of one, with an index that neither lists nor dictionaries take.

    These are tuples with slices, and tracers: a list needs a number, and a dictionary a hash.
    """
    while base.op == "updated":
        base = base.args[0]
    root = _root(base)
    if facts.kind(base) != "traced" or root.op != "param" or may_be_reference(facts, base):
        return False
    parts = index.args if index.op == "tuple" else (index,)
    if base is root and index.op == "tuple" and any(part.op == "slice" for part in parts):
        return True
    return any(facts.kind(part) == "array" or (part.op == "param" and facts.is_tracer(part)) for part in parts)


def is_used_as_array(facts: FileFacts, store: Store) -> bool:
    """Whether on the same path it is updated by `.at[...]` or, traced, has methods that only arrays have; or its class
    declares, or itself stores there, an array.

    On another path it may be another one: code for NumPy and for JAX picks the way to write by what it was given.
    """
    base = store.base
    while base is not None and base.op == "updated":
        base = base.args[0]
    if base is None or may_be_reference(facts, base):
        return False
    for each in store.function.calls:
        updated = updated_at(each)
        is_same = updated is not None and any(one is base for one in _unchanged(updated))
        if is_same or (facts.is_tracer(base) and _is_method(each, base)):
            first, second = (each, store) if each.order < store.order else (store, each)
            if together(first.block, second.block):
                return True
    kind = facts.type_of(base.args[0]) if base.op == "attr" else None
    if kind is None or kind not in facts.program.class_data:
        return False
    declared = facts.program.declared_type(kind, base.data)
    if declared is not None:
        return _names_array(declared)
    stored = facts.program.instance_member(kind, base.data)
    return stored is not None and is_array(facts, stored)


def may_be_numpy(facts: FileFacts, value: Value, depth: int = 8) -> bool:
    """Whether one of the ways in which a value came about makes a NumPy array: `xp = jnp if use_jax else np`."""
    if not depth or not isinstance(value, Value):
        return False
    if value.op == "name":
        return value.data.partition(".")[0] == "numpy"
    if value.op == "call":
        func = value.data.func
        return facts.kind(value) == "host" or may_be_numpy(facts, func, depth - 1)
    if value.op in ("phi", "loop", "attr", "item", "updated"):
        parts = value.args if value.op in ("phi", "loop") else value.args[:1]
        return any(may_be_numpy(facts, each, depth - 1) for each in parts)
    return False


def _is_method(call: Call, base: Value) -> bool:
    """Whether a call is of a method that arrays have, and neither dictionaries nor modules."""
    func = call.func
    return func.op == "attr" and func.data in SURE_ARRAY_METHODS and func.args[0] is base


def may_be_reference(facts: FileFacts, value: Value) -> bool:
    """Whether it may be a reference of a kernel, which is written with `[...]`, or a part of what holds some."""
    root = _root(value)
    return "pallas" in facts.source.text or (root.op == "param" and root.data.name.endswith(("ref", "refs")))


def _unchanged(value: Value, depth: int = 6) -> Iterator[Value]:
    """What a value is on each path that leads to it, without the changes in place."""
    while value.op == "updated":
        value = value.args[0]
    if value.op == "phi" and depth:
        for each in value.args:
            yield from _unchanged(each, depth - 1)
    else:
        yield value


def _root(value: Value) -> Value:
    while value.op in ("item", "attr"):
        value = value.args[0]
    return value


def updated_at(call: Call) -> Value | None:
    """The array of `x.at[index].set(value)`."""
    item = call.func.args[0] if call.func.op == "attr" and call.func.data in _AT else None
    if item is None or item.op != "item" or item.args[0].op != "attr" or item.args[0].data != "at":
        return None
    return item.args[0].args[0]


def _names_array(annotation: Value) -> bool:
    """Whether an annotation is that of one array."""
    if annotation.op == "item":
        annotation, shaped = annotation.args[0], annotation.args[1]
        first = shaped.args[0] if shaped.op == "tuple" and shaped.args else None
        return (dotted(annotation) or "").startswith("jaxtyping.") and first is not None and _names_array(first)
    return dotted(annotation) in _TYPES
