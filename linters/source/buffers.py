"""Whether code that names a value needs the numbers behind it: shapes, keys and types are known without them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from .apis import ARRAY_ATTRIBUTES, ARRAY_METHODS, HOST_METHODS, STATIC_ATTRIBUTES
from .arrays import is_array
from .records import Call, Function, Record
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .facts import FileFacts

STATE = frozenset({"params", "opt_state", "batch_stats", "mu", "nu", "ema", "ema_params", "weights", "variables"})
"""Attributes of a state that surely are arrays, or trees of them."""
_SURVIVE = STATIC_ATTRIBUTES | {"is_deleted", "delete", "device", "devices", "__dict__"}
_NUMBERS = ARRAY_ATTRIBUTES | ARRAY_METHODS | HOST_METHODS | STATE | {"step", "block_until_ready"}
_ASK_NO_NUMBERS = frozenset(
    {
        "builtins.isinstance", "builtins.len", "builtins.type", "builtins.id", "builtins.hasattr", "jax.typeof",
        "jax.tree.structure", "jax.tree_util.tree_structure", "jax.eval_shape", "jax.numpy.shape", "jax.numpy.ndim",
        "builtins.callable", "numpy.shape", "numpy.ndim", "jax.numpy.size", "numpy.size",
    }
)  # fmt: skip
_TAKE_APART = frozenset(f"builtins.{name}" for name in ("list", "tuple", "set", "sorted", "iter", "enumerate", "dict"))
_LEAVES = frozenset(
    f"jax.{name}"
    for name in ("tree.leaves", "tree_util.tree_leaves", "tree_leaves", "tree.flatten", "tree_util.tree_flatten")
)
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
_DEEPEST = 3


class Use(NamedTuple):
    """A place where a `value` is used: its code, and the `record` of what happens there."""

    record: Record
    node: ast.AST
    value: Value


def uses(function: Function) -> Iterator[Use]:
    """The names that a function reads, and what it calculates with, hands on and gives back without a name."""
    for read in function.reads:
        yield Use(read, read.node, read.value)
    for record, node, value in _operands(function):
        if not isinstance(node, ast.Name):
            yield Use(record, node, value)


def _operands(function: Function) -> Iterator[tuple[Record, ast.AST, Value]]:
    for call in function.calls:
        node = call.node
        if isinstance(node, ast.Call) and call.decorates is None:
            if not any(each.op == "star" for each in call.args):
                yield from ((call, *each) for each in zip(node.args, call.args, strict=True))
            yield from ((call, each.value, call.keywords[each.arg]) for each in node.keywords if each.arg)
            if call.func.op == "attr" and isinstance(node.func, ast.Attribute):
                yield call, node.func.value, call.func.args[0]
    for each in function.arithmetic:
        node = each.node
        if isinstance(node, ast.BinOp):
            parts: list[ast.expr] = [node.left, node.right]
        elif isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        else:
            continue
        yield from ((each, *part) for part in zip(parts, each.value.args, strict=True))
    for each in function.returns:
        given = getattr(each.node, "value", None)
        if given is not None:
            yield each, given, each.value


def needs(facts: FileFacts, use: Use) -> str | None:
    """`certain` or `likely` where the numbers behind a value are needed, None where the code comes by without them."""
    record = use.record
    return _needs(facts, record.function, use.node, record.statement, use.value, 0) if record.statement else "certain"


def _needs(
    facts: FileFacts, function: Function, node: ast.AST, statement: ast.AST, value: Value, depth: int
) -> str | None:
    path = _path(statement, node)
    at, apart = node, False
    while path:
        parent = path.pop()
        if isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is at:
            if not isinstance(parent.ctx, ast.Load):  # put there, or taken out
                return "certain" if path and isinstance(path[-1], ast.AugAssign) else None
            if isinstance(parent, ast.Attribute):
                if parent.attr in _SURVIVE or parent.attr not in _NUMBERS:
                    return None
                apart = apart and parent.attr in STATE
            elif at is node and _is_host(facts, value, parent):
                return None
            at = parent
            continue
        found = _call(function, parent) if isinstance(parent, ast.Call) and parent.func is not at else None
        name = (facts.callee(found).name or dotted(found.func) or "") if found is not None else ""
        if name in _LEAVES or (name in _TAKE_APART and not (at is node and is_array(facts, value))):
            at, apart = parent, True
            continue
        if found is not None:
            return None if apart or name in _ASK_NO_NUMBERS else _given(facts, found, at, depth)
        whole = at is node and is_array(facts, value)
        if isinstance(parent, ast.Assign):
            return "certain" if isinstance(parent.targets[0], ast.Tuple) and whole else None
        if _asks_container(parent, at) and not whole:
            return None
        if apart and not isinstance(parent, ast.BinOp):
            return None
        return None if isinstance(parent, ast.Compare) and _asks_identity(parent) else "certain"
    return "certain" if at is node else None


def _asks_identity(node: ast.Compare) -> bool:
    return all(isinstance(each, (ast.Is, ast.IsNot)) for each in node.ops)


def _asks_container(parent: ast.AST, at: ast.AST) -> bool:
    """Whether a container answers without its leaves: its truth, what is in it, what a loop takes out of it."""
    if isinstance(parent, ast.Compare):
        return at is not parent.left and all(isinstance(each, (ast.In, ast.NotIn)) for each in parent.ops)
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return parent.test is at
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    return isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is at


def _is_host(facts: FileFacts, value: Value, part: ast.Subscript) -> bool:
    """Whether the part of a container in sight is no array of JAX: NumPy's are not donated."""
    if not isinstance(part.slice, ast.Constant):
        return False
    element = facts.program.item_of(Value("item", None, (value, Value("const", None, (), part.slice.value))))
    return element is not None and is_host(facts, element)


def is_host(facts: FileFacts, value: Value) -> bool:
    """Whether a value is no array of JAX, nor holds one: arrays of NumPy, and numbers, stay when they are donated."""
    if value.op in ("dict", "tuple", "list"):
        return bool(value.args) and all(is_host(facts, each) for each in value.args)
    return facts.kind(value) in ("host", "static")


def _given(facts: FileFacts, call: Call, at: ast.AST, depth: int) -> str | None:
    """What the function of a call does with what it is given."""
    callee = facts.callee(call)
    written = [*getattr(call.node, "args", ()), *(each.value for each in getattr(call.node, "keywords", ()))]
    given = [*call.args, *call.keywords.values()]
    value = next((each for each, node in zip(given, written, strict=False) if node is at), None)
    if callee.name in _MAPS and not callee.wraps and call.args:
        return _applied(facts, call.args[0], 0, depth)
    if callee.function is None or callee.wraps or value is None:
        return "likely" if callee.name is None or (callee.name.startswith(".") and not callee.wraps) else "certain"
    names = [name for name, each in facts.arguments(call).items() if each is value]
    parameter = callee.function.parameter(names[0]) if isinstance(callee.function, Function) and names else None
    if parameter is None or len(names) > 1:
        return "likely"
    return _applied(facts, parameter.function.value, parameter.index, depth)


def _applied(facts: FileFacts, function: Value, index: int, depth: int) -> str | None:
    """What a function does with its argument at a position."""
    if function.op != "function":
        name = facts.callee(function).name
        return None if name in _ASK_NO_NUMBERS else "certain" if name and not name.startswith(".") else "likely"
    inner: Function = function.data
    if depth > _DEEPEST:
        return "likely"
    found = {
        _needs(facts, inner, read.node, read.statement, read.value, depth + 1)
        for read in inner.reads
        if read.statement is not None and read.value.op == "param" and read.value.data is inner.parameters[index]
    }
    return next((each for each in ("certain", "likely") if each in found), None)


def _call(function: Function, node: ast.AST) -> Call | None:
    return next((each for each in function.calls if each.node is node), None)


def _path(statement: ast.AST, wanted: ast.AST) -> list[ast.AST]:
    """The nodes from a statement down to the one round a node."""
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(statement, [])]
    while stack:
        node, above = stack.pop()
        if node is wanted:
            return above
        stack += [(each, [*above, node]) for each in ast.iter_child_nodes(node)]
    return []
