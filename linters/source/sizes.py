"""How many bytes arrays and trees of them have, and how wide a model is, as far as the code says it in numbers."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from .pattern import Pattern
from .records import Call
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

LOADED = 2**62
"""The bytes of what was loaded from a file."""
_SHAPE_FIRST = frozenset({"zeros", "ones", "empty", "full"})
_OF_FIRST = frozenset(
    {
        "array",
        "asarray",
        "device_put",
        "tanh",
        "sin",
        "cos",
        "exp",
        "sqrt",
        "abs",
        "square",
        "transpose",
        "flip",
        "roll",
    }
)
_DRAWS = frozenset(
    {"normal", "uniform", "standard_normal", "random", "random_sample", "gumbel", "bits", "randint", "integers"}
)
_LOADS = frozenset(
    {"numpy.load", "jax.numpy.load", "numpy.loadtxt", "numpy.fromfile", "numpy.memmap", "numpy.genfromtxt"}
)
_ITEM = {
    "float64": 8,
    "int64": 8,
    "bfloat16": 2,
    "float16": 2,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool_": 1,
    "bool": 1,
}
_DTYPE_AT = {"zeros": 1, "ones": 1, "empty": 1, "full": 2, "normal": 2, "uniform": 2, "gumbel": 2, "bits": 2}
"""The position of the type, where it may be given without a name."""
_KEEPS = frozenset({"astype", "reshape", "T", "copy", "transpose", "view"})
_HOLDS = frozenset({"array", "asarray", "float32", "int32", "float16", "bfloat16", "stack"})
_WIDTHS = Pattern(r"hidden|width|dim|feature|model|embed|vocab|channel|units|latent|layer|mlp|ffn?(_|$)|size", 2)
_COUNTS = Pattern(r"batch|sample|step|epoch|data|image|eval|train|test|seed|queue|buffer|sequence|length|max_|num_e", 2)


def array_bytes(facts: FileFacts, value: Value, depth: int = 6) -> int | None:
    """At least how many bytes an array has; LOADED where it came from a file, None where nothing is known."""
    if not depth:
        return None
    if value.op == "bin":
        parts = [array_bytes(facts, each, depth - 1) for each in value.args]
        return max((part for part in parts if part is not None), default=None)
    if value.op == "attr":
        return array_bytes(facts, value.args[0], depth - 1) if value.data in _KEEPS else None
    if value.op != "call":
        return None
    call = value.data
    name = facts.callee(call).name
    if name is None:
        return None
    if name in _LOADS:
        return LOADED
    module, _, last = name.rpartition(".")
    if not module and call.func.op == "attr":
        if last in _KEEPS:
            return array_bytes(facts, call.func.args[0], depth - 1)
        return _elements(facts, call.argument(0, "size"), call) if last in _DRAWS else None
    if module in ("jax.numpy", "numpy", "jax", "jax.nn") and last in _OF_FIRST and call.args:
        return array_bytes(facts, call.args[0], depth - 1)
    if module in ("jax.numpy", "numpy"):
        if last in _SHAPE_FIRST:
            return _elements(facts, call.argument(0, "shape"), call)
        if last in ("eye", "identity"):
            rows = facts.constant(call.argument(0, "N"))
            return rows * rows * 4 if type(rows) is int else None
        if last == "arange" and len(call.args) == 1:
            return _elements(facts, call.args[0], call)
    if module in ("jax.random", "numpy.random") and last in _DRAWS:
        at = 1 if module == "jax.random" else 0 if last in ("standard_normal", "random", "random_sample") else 2
        return _elements(facts, call.argument(at, "shape" if module == "jax.random" else "size"), call)
    if module == "numpy.random" and last in ("rand", "randn"):
        sizes = [facts.constant(each) for each in call.args]
        return prod(sizes) * 8 if sizes and all(type(each) is int for each in sizes) else None
    return None


def _elements(facts: FileFacts, shape: Value | None, call: Call) -> int | None:
    found = facts.constant(shape) if shape is not None else facts.MISSING
    sizes = (found,) if type(found) is int else found
    if not isinstance(sizes, tuple) or not all(type(each) is int for each in sizes):
        return None
    at = _DTYPE_AT.get((facts.callee(call).name or "").rpartition(".")[2])
    dtype = call.argument(at, "dtype")
    name = (dotted(dtype) or "").rpartition(".")[2] if dtype is not None else ""
    return prod(sizes) * _ITEM.get(name, 4)


def tree_bytes(facts: FileFacts, value: Value, depth: int = 10) -> int | None:
    """The bytes of a tree of arrays that is made in plain sight; None where a part is not."""
    if not depth:
        return None
    op = value.op
    if op == "const":
        return 4 if isinstance(value.data, (bool, int, float)) else 0 if value.data is None else None
    if op in ("tuple", "list", "dict"):
        return _added(facts, value.args, depth)
    if op == "loop":
        return tree_bytes(facts, value.args[0], depth - 1)  # later rounds keep the shapes of the first
    if op == "phi":
        parts = [tree_bytes(facts, each, depth - 1) for each in value.args]
        return max((each for each in parts if each is not None), default=None) if None not in parts else None
    if op == "bin":
        scaled = [each for each in value.args if each.op != "const"]
        return tree_bytes(facts, scaled[0], depth - 1) if len(scaled) == 1 else None
    if op == "item":
        part = facts.program.item_of(value)
        return tree_bytes(facts, part, depth - 1) if part is not None else None
    if op == "name":
        target = facts.program.resolve(value.data)
        return tree_bytes(facts, target, depth - 1) if target is not None and target.op != "name" else None
    return _made_bytes(facts, value.data, value, depth) if op == "call" else None


def _made_bytes(facts: FileFacts, call: Call, value: Value, depth: int) -> int | None:
    callee = facts.callee(call)
    if callee.wraps:
        return None
    name = callee.name or ""
    module, _, last = name.rpartition(".")
    if callee.function is not None:
        made = facts.returned(value)
        return tree_bytes(facts, made, depth - 1) if made is not None else None
    if call.func.op == "attr" and call.func.data == "init" and len(call.args) == 1:
        inner = tree_bytes(facts, call.args[0], depth - 1)
        return 2 * inner + 8 if inner is not None else None  # an optimizer keeps two moments and a count at most
    if module in ("jax.numpy", "numpy") and last in _HOLDS and call.args:
        return tree_bytes(facts, call.args[0], depth - 1)
    return array_bytes(facts, value) if name else None


def _added(facts: FileFacts, values: tuple[Value, ...] | list[Value], depth: int) -> int | None:
    total = 0
    for each in values:
        part = tree_bytes(facts, each, depth - 1)
        if part is None:
            return None
        total += part
    return total


def widest(facts: FileFacts) -> int:
    """The largest number that a file writes as the width of a layer or array: as argument, default or constant."""
    return max(_widths(facts), default=0)


def _widths(facts: FileFacts) -> Iterator[int]:
    for function in facts.functions:
        for call in function.calls:
            name = (facts.callee(call).name or dotted(call.func) or "").rpartition(".")[2]
            if name.startswith("DEFINE_") and len(call.args) > 1 and call.args[0].op == "const":
                yield from _named(str(call.args[0].data), call.args[1])
            elif name[:1].isupper() or name in _SHAPE_FIRST or name in _DRAWS:
                for each in call.args:
                    yield from _numbers(each)
            for keyword, each in call.keywords.items():
                yield from _named(keyword or "", each)
        for parameter in function.parameters:
            if parameter.default is not None:
                yield from _named(parameter.name, parameter.default)
    for name, value in facts.module.exports.items():
        yield from _named(name, value)
    for cls in facts.classes:
        for name, value in cls.attributes.items():
            yield from _named(name, value)


def _named(name: str, value: Value) -> Iterator[int]:
    if _WIDTHS.search(name) and not _COUNTS.search(name):
        yield from _numbers(value)


def _numbers(value: Value, depth: int = 3) -> Iterator[int]:
    if value.op == "const" and type(value.data) is int:
        yield value.data
    elif value.op in ("tuple", "list", "bin") and depth:
        for each in value.args:
            yield from _numbers(each, depth - 1)
