"""A value of the program, as the interpreter sees it: how it came about, never what it is.

Each evaluation of an expression gives one `Value`; each assignment binds a name to the one that was computed, so two
reads of a name that is not rebound between them give the same object. Where paths meet, a name with several values has
a
`phi`; at the head of a loop, one with a value from the round before has a `loop`.

| op | args | data |
| --- | --- | --- |
| `const` | | the Python constant |
| `param` | | the `Parameter`; its `function` says whose |
| `name` | | dotted name of what is imported, of a builtin (`builtins.len`), or of another file's global |
| `function`, `class` | | the `Function` or `Class` of this file; from another file, its id is in a `ref` |
| `ref` | | id of a function or class of another file, `pkg.module:Qual.name` |
| `call` | | the `Call` |
| `attr` | (base,) | attribute name |
| `item` | (base, index) | |
| `slice` | (lower, upper, step) | |
| `bin` | (left, right) | operator: `Add`, `MatMult`, ... |
| `compare` | (first, *others) | operators: (`Lt`, `Is`, ...) |
| `bool` | operands | `And` or `Or` |
| `unary` | (operand,) | `Not`, `USub`, ... |
| `tuple`, `list`, `set` | elements | |
| `dict` | values | keys, as Values; None for `**` |
| `comp` | (element, *iterables) | `list`, `set`, `dict`, `generator`; a dict's element is a `tuple` (key, value) |
| `format` | formatted values | |
| `phi` | alternatives | the `Branch`, or None |
| `loop` | [before, after a round] | the `Loop` |
| `element` | (iterable,) | the `Loop`, or None in a comprehension |
| `enter` | (context manager,) | |
| `star` | (iterable,) | |
| `updated` | (old, new part) | how: `item`, `attr NAME`, `method NAME` |
| `sketch` | | in another file: (kind, function), see `sketch` |
| `unknown` | whatever went in | |
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any


class Value:
    """One value. Compare by identity. `kind` and `callee` are memos of the questions asked about it.

    `loop` is, for an `attr` of an object that a loop changes, that loop: the attribute may differ in each round.
    """

    __slots__ = ("args", "callee", "data", "kind", "loop", "node", "op")

    args: Any
    data: Any

    def __init__(self, op: str, node: ast.AST | None, args: Any = (), data: Any = None) -> None:
        self.op = op
        self.node = node
        self.args = args
        self.data = data
        self.kind: str | None = None
        self.callee: Any = None
        self.loop: Any = None

    def __repr__(self) -> str:
        return f"<{self.op} {self.data!r}>" if self.data is not None else f"<{self.op}>"


UNKNOWN = Value("unknown", None)
NONE = Value("const", None, (), None)


class Parameter:
    """A parameter of a function: `kind` is `positional`, `keyword`, `star` or `double_star`."""

    __slots__ = ("annotation", "default", "function", "index", "kind", "name")

    def __init__(self, function: Any, index: int, name: str, kind: str, default: Value | None, annotation: Any) -> None:
        self.function = function
        self.index = index
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation

    def __repr__(self) -> str:
        return self.name


def dotted(value: Value) -> str | None:
    """The dotted name of a value that is a name, or attributes of one; None for anything computed."""
    tail = ""
    while value.op == "attr":
        tail = f".{value.data}{tail}"
        value = value.args[0]
    return value.data + tail if value.op == "name" else None


def spread(values: Iterable[Value]) -> Iterator[Value]:
    """The arguments of a call; those of a `*` one by one where what is unpacked is in sight."""
    for each in values:
        if each.op == "star" and each.args[0].op in ("tuple", "list"):
            yield from spread(each.args[0].args)
        else:
            yield each
