"""The state of the interpreter between two statements: what each name is, where paths part and meet."""

from __future__ import annotations

import ast
import builtins
from itertools import count
from typing import Any

from ..records import Block, Call, Class, Function, Loop, Read
from .value import UNKNOWN, Value

# A name gives a Value. (base,) gives the Version of an object's attributes, (base, attribute, version) what was stored.
Env = dict[Any, Any]
_BUILTINS = frozenset(dir(builtins))
_FRESH = count(1)


class Version:
    """Of an object's attributes: a call of one of its methods may change them all. `loop` is where that happens."""

    __slots__ = ("loop",)

    def __init__(self, loop: Loop | None) -> None:
        self.loop = loop


FIRST = Version(None)


class Scope:
    """The names of an enclosing function: as they were where the inner one was defined, and as they ended."""

    __slots__ = ("final", "parent", "seen")

    def __init__(self, seen: Env, final: Env, parent: Scope | None) -> None:
        self.seen = seen
        self.final = final
        self.parent = parent

    def get(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            value, last = scope.seen.get(name), scope.final.get(name)
            if value is None:
                value = last
            elif last is not None and last is not value:
                value = scope.seen[name] = Value("phi", value.node, (value, last), None)
                scope.final[name] = value
            if value is not None:
                return value
            scope = scope.parent
        return None


class State:
    """What statements and expressions share."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.names: dict[str, Value] = {}
        self.globals: Env = {}
        self.env: Env = self.globals
        self.scope: Scope | None = None
        self.function: Function
        self.owner: Class | None = None
        self.block: Block
        self.loop: Loop | None = None
        self.ends: str | None = None
        self.order = 0
        self.statement: ast.stmt | None = None
        self.declared: dict[str, str] = {}
        self.exits: list[Env] = []
        self.breaks: list[Env] = []
        self.continues: list[Env] = []
        self.attributes: dict[Any, Value] = {}
        self.queue: list[tuple[Function, Scope | None]] = []
        self.final: Env = {}
        self.ids: dict[str, int] = {}
        self.in_class_body = False
        self.class_outer: Env = {}

    # Names

    def named(self, dotted: str) -> Value:
        """The one Value of a dotted name."""
        value = self.names.get(dotted)
        if value is None:
            value = self.names[dotted] = Value("name", None, (), dotted)
        return value

    def lookup(self, name: str, node: ast.AST | None) -> Value:
        """What a name is here: own, of an enclosing function, of the module, or a builtin."""
        if name not in self.declared or self.declared[name] == "nonlocal" or name in self.env:
            value = self.env.get(name)
            if value is not None:
                return value
            if self.scope is not None:
                value = self.scope.get(name)
                if value is not None:
                    return value
        value = self.globals.get(name)
        if value is not None:
            return value
        if name in _BUILTINS:
            return self.named(f"builtins.{name}")
        stars = self.module.stars
        return self.named(f"{stars[-1]}.{name}") if len(stars) == 1 else UNKNOWN

    # Attributes

    def version(self, base: Value) -> Version:
        return self.env.get((base,), FIRST)

    def attribute(self, base: Value, name: str, node: ast.AST) -> Value:
        """`base.name`: what was stored there on this path, else one Value for each version of the object."""
        if base.op == "name":
            return self.named(f"{base.data}.{name}")
        version = self.env.get((base,), FIRST)
        key = (base, name, version)
        value = self.env.get(key) or self.attributes.get(key)
        if value is None:
            value = self.attributes[key] = Value("attr", node, (base,), name)
            value.loop = version.loop
        return value

    def renew(self, base: Value) -> None:
        """A method of the object ran: nothing is known of its attributes any more."""
        self.env[(base,)] = Version(self.loop)

    # Where paths meet

    def join(self, envs: list[Env], why: Any) -> Env:
        """One state for several that go on from here; the first is changed in place."""
        result = envs[0]
        for other in envs[1:]:
            for key, value in list(result.items()):
                theirs = other.get(key)
                if theirs is value:
                    continue
                result[key] = self._meet(key, value, theirs, why)
            for key, value in other.items():
                if key not in result:
                    result[key] = self._meet(key, None, value, why)
        return result

    def _meet(self, key: Any, mine: Any, theirs: Any, why: Any) -> Any:
        if type(key) is tuple:
            if len(key) == 1:
                return Version(self.loop)
            missing = self.attributes.get(key)
            if missing is None:
                missing = self.attributes[key] = Value("attr", None, (key[0],), key[1])
            mine, theirs = mine or missing, theirs or missing
        if mine is None or theirs is None:
            return mine or theirs
        if mine is theirs:
            return mine
        ours = mine.args if mine.op == "phi" and mine.data is why else (mine,)
        return ours[0] if theirs in ours and len(ours) == 1 else Value("phi", mine.node, (*ours, theirs), why)

    # Records

    def next(self) -> int:
        self.order += 1
        return self.order

    def read(self, node: ast.AST, value: Value) -> None:
        self.order += 1
        self.function.reads.append(Read(node, self.block, self.function, self.order, self.statement, value))

    def call(self, node: ast.AST, func: Value, args: list[Value], keywords: dict[str | None, Value]) -> Call:
        self.order += 1
        call = Call(node, self.block, self.function, self.order, self.statement, func, args, keywords)
        self.function.calls.append(call)
        return call
