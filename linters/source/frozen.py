"""Values as JSON: what one file tells others of its own. Bounded in size; what does not fit is unknown.

["c", constant]  ["n", dotted]  ["f", function id]  ["k", class id]  ["p", function id, index]
["x", func, [arguments], {keyword: value}, decorates]                  a call; 1 for that of a decorator
[".", base, attribute]  ["i", base, index]  ["e", iterable]  ["|", alternatives]
["o", op, data, [arguments]]                                           operators and containers
["d", [[key, value], ...]]                                             a dictionary
0                                                                      unknown
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .records import Block, Call
from .values.value import UNKNOWN, Value

Frozen = Any
_OPERATORS = frozenset({"bin", "compare", "bool", "unary", "tuple", "list", "set", "star", "slice", "format", "enter"})
_SIMPLE = (bool, int, float, str, type(None))
_NOWHERE = Block(None, None, "summary", None, None)
LONGEST_CONSTANT = 120
LONGEST_CONTAINER = 64


class Freezer:
    """Freezes one value after another; `budget` is the number of nodes that each may take."""

    def __init__(self) -> None:
        self.left = 0
        self.open: set[int] = set()
        self.home = ""
        """Id of the function whose values are frozen: its own parameters do not repeat it."""

    def freeze(self, value: Value | None, budget: int) -> Frozen:
        self.left = budget
        self.open.clear()
        return self._freeze(value) if value is not None else 0

    def _freeze(self, value: Value) -> Frozen:
        self.left -= 1
        op = value.op
        if op == "const":
            data = value.data
            too_long = isinstance(data, str) and len(data) > LONGEST_CONSTANT
            too_large = isinstance(data, int) and abs(data) > 2**62
            if isinstance(data, _SIMPLE) and not too_long and not too_large:
                return ["c", data]
            return ["c", None] if data is Ellipsis else 0
        if op == "name":
            return ["n", value.data]
        if op == "function":
            return ["f", value.data.id]
        if op == "class":
            return ["k", value.data.id]
        if op == "ref":
            return ["f", value.data]
        if op == "param":
            owner = value.data.function.id
            return ["p", "" if owner == self.home else owner, value.data.index]
        if self.left < 0 or id(value) in self.open or len(self.open) > 40:
            return 0
        self.open.add(id(value))
        try:
            return self._compound(value, op)
        finally:
            self.open.discard(id(value))

    def _compound(self, value: Value, op: str) -> Frozen:
        if op == "call":
            call: Call = value.data
            func = self._freeze(call.func)
            if func == 0:
                # What is known of a decorated function is known of it still where nothing is of its decorator.
                return self._freeze(call.args[0]) if call.decorates is not None and call.args else 0
            keywords = {name or "**": self._freeze(each) for name, each in call.keywords.items()}
            return ["x", func, [self._freeze(each) for each in call.args], keywords, int(call.decorates is not None)]
        if op == "attr":
            base = self._freeze(value.args[0])
            return [".", base, value.data] if base != 0 else 0
        if op == "item":
            base = self._freeze(value.args[0])
            return ["i", base, self._freeze(value.args[1])] if base != 0 else 0
        if op == "element":
            base = self._freeze(value.args[0])
            return ["e", base] if base != 0 else 0
        if op in ("phi", "loop"):
            found: list[Frozen] = []
            for each in value.args[:4]:
                frozen = self._freeze(each)
                if frozen not in found:
                    found.append(frozen)
            return ["|", found] if len(found) > 1 else found[0]
        if op in _OPERATORS:
            if len(value.args) > LONGEST_CONTAINER:
                return 0
            return ["o", op, value.data, [self._freeze(each) for each in value.args]]
        if op == "dict":
            if len(value.args) > LONGEST_CONTAINER:
                return 0
            pairs = zip(value.data, value.args, strict=True)
            return [
                "d",
                [[self._freeze(key) if key is not None else None, self._freeze(each)] for key, each in pairs],
            ]
        if op == "updated":
            return ["o", op, "item", [self._freeze(each) for each in value.args[:2]]]
        if op == "comp":
            return ["o", op, value.data, [self._freeze(value.args[0])]]
        return 0


class Thaw:
    """Values again. `bind` gives those of parameters, by function id and index; `function` is where calls then stand.

    The `order` of a call is the `generation`: how many returned values of functions were followed to get here.
    """

    def __init__(
        self,
        function: Any,
        bind: Mapping[tuple[str, int], Value],
        parameter: Any,
        generation: int = 0,
        home: str = "",
    ) -> None:
        self.function = function
        self.home = home
        self.generation = generation
        self.bind = bind
        self.parameter = parameter

    def value(self, frozen: Frozen) -> Value:
        if not frozen:
            return UNKNOWN
        tag = frozen[0]
        if tag == "c":
            return Value("const", None, (), frozen[1])
        if tag == "n":
            return Value("name", None, (), frozen[1])
        if tag == "f" or tag == "k":
            return Value("ref", None, (), frozen[1])
        if tag == "p":
            owner = frozen[1] or self.home
            bound = self.bind.get((owner, frozen[2]))
            return bound if bound is not None else self.parameter(owner, frozen[2])
        if tag == "=":
            return Value("sketch", None, (), (frozen[1], self.function))
        if tag == "x":
            _, func, args, keywords, decorates = frozen
            given = {None if name == "**" else name: self.value(each) for name, each in keywords.items()}
            made = made_call(self.function, self.value(func), [self.value(each) for each in args], given, 0)
            made.decorates = DECORATED if decorates else None
            made.order = self.generation
            result, made.result = made.result, None  # type: ignore[assignment] # no circle: garbage is not collected
            return result
        if tag == ".":
            return Value("attr", None, (self.value(frozen[1]),), frozen[2])
        if tag == "i":
            return Value("item", None, (self.value(frozen[1]), self.value(frozen[2])))
        if tag == "e":
            return Value("element", None, (self.value(frozen[1]),))
        if tag == "|":
            return Value("phi", None, tuple([self.value(each) for each in frozen[1]]))
        if tag == "o":
            data = tuple(frozen[2]) if isinstance(frozen[2], list) else frozen[2]
            return Value(frozen[1], None, tuple([self.value(each) for each in frozen[3]]), data)
        keys = tuple([self.value(key) if key is not None else None for key, _ in frozen[1]])
        return Value("dict", None, tuple([self.value(each) for _, each in frozen[1]]), keys)


class At:
    """Stands for the syntax node of a call in another file."""

    __slots__ = ("lineno",)

    def __init__(self, lineno: int) -> None:
        self.lineno = lineno


DECORATED: Any = At(0)
"""Stands for what a decorator in another file is applied to."""


def made_call(function: Any, func: Value, args: list[Value], keywords: dict[str | None, Value], line: int) -> Call:
    """A call of another file."""
    node: Any = At(line)
    return Call(node, _NOWHERE, function, 0, None, func, args, keywords)


def is_summary(call: Call) -> bool:
    """Whether a call comes from a summary, not from the syntax tree at hand."""
    return call.block is _NOWHERE
