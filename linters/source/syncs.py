"""Where the host waits for a device: what reads the numbers of an array, and which parameters a function reads so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from .apis import STATIC_ATTRIBUTES
from .records import Block, Call, Function, Loop
from .values.value import Value, dotted

if TYPE_CHECKING:
    from .program import Program

NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.bool", "builtins.complex", "builtins.round"})
COPIES = frozenset(
    {"numpy.asarray", "numpy.array", "numpy.ascontiguousarray", "numpy.copy", "numpy.stack", "numpy.concatenate"}
)
PRINTS = frozenset(
    {
        "builtins.print", "builtins.str", "builtins.repr", "builtins.format", "logging.info", "logging.warning",
        "logging.error", "absl.logging.info", "absl.logging.warning", "absl.logging.error", "tqdm.tqdm.write",
        "wandb.log", "rich.print", "mlflow.log_metric", "mlflow.log_metrics",
    }
)  # fmt: skip
METHODS = frozenset({"item", "tolist", "block_until_ready"})
BARS = frozenset({"set_postfix"})
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map", "builtins.map"})
_FREE_NUMPY = frozenset({"shape", "ndim", "size", "dtype", "result_type", "issubdtype", "iscomplexobj", "isscalar"})
MOST_CALLS = 400


class Sync:
    """One read: `values` are what is read, `how` names it, `kind` is `number`, `copy`, `wait` or `text`."""

    __slots__ = ("how", "kind", "values")

    def __init__(self, how: str, kind: str, values: list[Value]) -> None:
        self.how = how
        self.kind = kind
        self.values = values


def syncs(call: Call, name: str | None, inner: bool = False) -> Iterator[Sync]:
    """What a call reads from devices; `name` is the dotted name of what it calls. `inner` looks into no functions."""
    func = call.func
    if name is not None:
        if name in NUMBERS:
            yield Sync(f"{name.rpartition('.')[2]}()", "number", call.args[:1])
        elif name in COPIES:
            yield Sync(f"{name.replace('numpy.', 'np.')}()", "copy", call.args[:1])
        elif name.startswith("numpy.") and name.count(".") == 1 and name[6:] not in _FREE_NUMPY:
            yield Sync(f"{name.replace('numpy.', 'np.')}()", "number", call.args)
        elif name == "jax.device_get":
            yield Sync("jax.device_get()", "copy", call.args[:1])
        elif name == "jax.block_until_ready":
            yield Sync("jax.block_until_ready()", "wait", call.args[:1])
        elif name in PRINTS:
            yield Sync(f"{name.removeprefix('builtins.')}()", "text", [*call.args, *call.keywords.values()])
        elif name in _MAPS and len(call.args) > 1:
            yield from _mapped(call, inner)
    if func.op == "attr":
        if func.data in METHODS and func.args[0].op != "name":
            kind = "wait" if func.data == "block_until_ready" else "copy" if func.data == "tolist" else "number"
            yield Sync(f".{func.data}()", kind, [func.args[0]])
        elif func.data in BARS:
            yield Sync(f".{func.data}()", "text", [*call.args, *call.keywords.values()])
        elif func.data == "format" and func.args[0].op == "const":
            yield Sync("format()", "text", [*call.args, *call.keywords.values()])
    texts = [text for given in (*call.args, *call.keywords.values()) for text in _texts(given)]
    if texts and name not in PRINTS:
        yield Sync("formatting", "text", texts)


def _texts(value: Value) -> Iterator[Value]:
    """The texts that an argument is made of: f-strings, and `"..." % values`."""
    if value.op == "format" or (value.op == "bin" and value.data == "Mod" and value.args[0].op in ("const", "format")):
        yield value
    elif value.op == "comp":
        yield from _texts(value.args[0])


def _mapped(call: Call, inner: bool) -> Iterator[Sync]:
    """`jax.tree.map(float, metrics)`: the function reads each leaf."""
    function, trees = call.args[0], call.args[1:]
    name = dotted(function)
    if name in NUMBERS or name in COPIES or name in ("jax.device_get", "numpy.mean"):
        yield Sync(f"{name.rpartition('.')[2]}() of each leaf", "number" if name in NUMBERS else "copy", trees)
    elif not inner and function.op == "function" and read_parameters(function.data, inner=True):
        yield Sync("a function that reads each leaf", "number", trees)


def unconditional(block: Block, loop: Loop | None = None) -> bool:
    """Whether a block runs in every round of a loop (of the function, without one): no condition stands before it.

    Which process it is and whether something is None does not thin the rounds out, nor does a condition to stop.
    """
    for each in block.chain():
        if loop is not None and each is loop.block:
            return True
        if each.branch is None:
            if each.arm == "message":
                return False
            continue
        if each.arm in ("try", "none") or each.arm.startswith("finally") or _goes_on(each):
            continue
        if each.guard is None or not _thins_nothing(each.guard):
            return False
    return True


def _goes_on(block: Block) -> bool:
    """Whether the other arm ends the loop or the function: the rounds that there are come through here."""
    test = getattr(block.branch, "node", None)
    last = test.body[-1] if block.arm == "else" and isinstance(test, ast.If) else None
    return isinstance(last, (ast.Break, ast.Raise, ast.Return))


def _thins_nothing(guard: Value, depth: int = 0) -> bool:
    if guard.op == "const":
        return bool(guard.data)
    if guard.op == "compare":
        if all(each in ("Is", "IsNot") for each in guard.data):
            return any(each.op == "const" and each.data is None for each in guard.args)
        return any(each.op == "call" and dotted(each.data.func) == "jax.process_index" for each in guard.args)
    if guard.op == "unary" and guard.data == "Not" and depth < 3:
        return _thins_nothing(guard.args[0], depth + 1)
    made: Any = guard.data
    return guard.op == "call" and dotted(made.func) in ("builtins.isinstance", "builtins.hasattr")


def roots(value: Value, depth: int = 0) -> Iterator[Value]:
    """The values that this one is a part of, or is made of."""
    if depth > 8:
        return
    op = value.op
    if op == "attr" and value.data in STATIC_ATTRIBUTES:
        return
    yield value
    if op in ("attr", "item", "element", "star", "format", "tuple", "list", "bin", "unary", "dict", "updated"):
        for each in value.args[:1] if op in ("item", "attr") else value.args:
            yield from roots(each, depth + 1)
    elif op == "comp":
        yield from roots(value.args[0], depth + 1)
    elif op == "call" and value.data.func.op == "attr" and value.data.func.data in ("items", "values", "mean", "sum"):
        yield from roots(value.data.func.args[0], depth + 1)


def read_parameters(function: Function, inner: bool = False) -> list[str]:
    """The parameters whose numbers a function reads on the host in every run, itself."""
    found: set[str] = set()
    for call in function.calls[:MOST_CALLS]:
        name = dotted(call.func)
        if name is None and call.func.op != "attr":
            continue
        for sync in syncs(call, name, inner):
            if sync.kind == "wait" or not sync.values or not unconditional(call.block):
                continue
            for value in sync.values:
                found |= {
                    each.data.name for each in roots(value) if each.op == "param" and each.data.function is function
                }
    return sorted(found)


_READ: WeakKeyDictionary[Program, dict[str, frozenset[str]]] = WeakKeyDictionary()


def reads_of(program: Program, id: str) -> frozenset[str]:
    """The parameters whose numbers a function of the project reads on the host, itself or in those it calls."""
    known = _READ.setdefault(program, {})
    if id in known:
        return known[id]
    known[id] = frozenset()
    function = program.function(id)
    if function is None or function.data.get("g"):
        return frozenset()
    found = set(function.data.get("y", ()))
    for func, args, keywords, _ in function.calls:
        passed = {each[2] for each in (*args, *keywords.values()) if each and each[0] == "p" and not each[1]}
        if all(function.parameters[at].name in found for at in passed):
            continue
        callee = program.callee(program.thaw(func, function))
        if callee.function is None or callee.wraps or not (used := reads_of(program, callee.function.id)):
            continue
        given = {None if name == "**" else name: program.thaw(each, function) for name, each in keywords.items()}
        matched = program.matched(callee, [program.thaw(each, function) for each in args], given)
        for name in used:
            value = matched.get(name)
            if value is not None and value.op == "param" and value.data.function.id == id:
                found.add(value.data.name)
    known[id] = frozenset(found)
    return known[id]
