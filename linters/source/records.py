"""What the interpreter records of a file: who defines what, and what each function does, in program order.

Every record has the syntax `node`, the `block` it stands in and its `order` in the function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .values.value import Parameter, Value

if TYPE_CHECKING:
    from .text import SourceText


class Block:
    """A stretch of a function that runs as a whole: one arm of a branch, the body of a loop, or the function's own.

    What follows `if c: return` stands in the block of that branch's other arm, so two blocks in different arms of one
    branch never run in the same round. `guard` is the condition's Value (None where there is none, as in `try`).

    What runs only where the body of a `try` came through stands in a block `after try` inside of the block `try`: its
    `else`, and what follows where every handler ends the path. No handler catches what fails there. Likewise
    `after with`, one for each context manager, where an arm inside of the `with` goes on. `contexts` leaves out
    what was left so.

    `said` is a memo of `together`: what the conditions round it say.
    """

    __slots__ = ("_outer", "arm", "branch", "depth", "ends", "guard", "loop", "parent", "said")

    def __init__(self, parent: Block | None, branch: Any, arm: str, guard: Value | None, loop: Loop | None) -> None:
        self.parent = parent
        self.branch = branch
        self.arm = arm
        self.guard = guard
        self.loop = loop
        self.depth: int = parent.depth + 1 if parent else 0
        self.ends: str | None = None
        self.said: Any = None
        self._outer: tuple[Block, ...] = parent.contexts if parent else ()
        if arm in ("after try", "after with"):
            left = arm.removeprefix("after ")
            last = max((at for at, each in enumerate(self._outer) if each.arm == left), default=len(self._outer))
            self._outer = self._outer[:last] + self._outer[last + 1 :]

    @property
    def contexts(self) -> tuple[Block, ...]:
        """The blocks `try` and `with` whose handlers and context managers hold here, outermost first, without those
        that were left.
        """
        # A block that held itself would never be freed while the collector is off, nor the tree that it points into.
        return (*self._outer, self) if self.arm in ("try", "with") else self._outer

    def chain(self) -> Iterator[Block]:
        """This block and those round it, innermost first."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.parent

    def guards(self) -> Iterator[tuple[Value, str]]:
        """The conditions that hold here, innermost first, each with `then` or `else`."""
        for block in self.chain():
            if block.guard is not None:
                yield block.guard, block.arm

    def excludes(self, other: Block) -> bool:
        """Whether `other`, which stands later, never runs after this one in the same round of every loop round both."""
        arms = {id(block.branch): block.arm for block in self.chain() if block.branch is not None}
        if any(block.ends in ("return", "raise") for block in self.chain()):
            round_other = set(map(id, other.chain()))
            if any(block.ends in ("return", "raise") and id(block) not in round_other for block in self.chain()):
                return True
        return any(
            block.branch is not None and arms.get(id(block.branch), block.arm) != block.arm for block in other.chain()
        )

    def loops(self) -> Iterator[Loop]:
        """The loops round this block, innermost first."""
        loop = self.loop
        while loop is not None:
            yield loop
            loop = loop.block.loop


@dataclass(slots=True, eq=False, repr=False)
class Record:
    """Base of all records."""

    node: ast.AST
    block: Block
    function: Function
    order: int
    statement: ast.stmt | None


@dataclass(slots=True, eq=False, repr=False)
class Call(Record):
    """A call. `args` may hold a `star`; `keywords` has None for `**`. `result` is the call's own Value.

    A decorator is recorded as a call of the enclosing function: `decorates` is the function it is applied to.
    """

    func: Value
    args: list[Value]
    keywords: dict[str | None, Value]
    decorates: Function | Class | None = None
    awaited: bool = False
    result: Value = field(init=False)

    def __post_init__(self) -> None:
        self.result = Value("call", self.node, (), self)

    def argument(self, position: int | None, name: str | None = None) -> Value | None:
        """The argument at this position, or of this keyword; None where neither is given or a `*` hides it."""
        if name is not None and name in self.keywords:
            return self.keywords[name]
        if position is None or position >= len(self.args):
            return None
        return None if any(arg.op == "star" for arg in self.args[: position + 1]) else self.args[position]


@dataclass(slots=True, eq=False, repr=False)
class Branch(Record):
    """A place that asks for the truth of a value: `kind` is `if`, `while`, `assert`, `ternary`, `and`, `or`, `not`,
    `chain` (all comparisons of `a < b < c` but the last), `filter` (the condition of a comprehension), `match` (the
    subject, compared with a value), `case` (a guard) or `try` (no value is asked there).

    For `if`, `value` is the whole test; the operands of `and`, `or`, `not` in it have records of their own.
    """

    kind: str
    value: Value | None


@dataclass(slots=True, eq=False, repr=False)
class Loop(Record):
    """`for`, `while` or `comprehension`. `iterable` is what a `for` runs over, `test` what a `while` asks, `block` the
    block that it stands in.

    `once` says that every path of its body leaves it: it never comes to a second round.
    """

    kind: str
    iterable: Value | None
    element: Value | None = None
    once: bool = False
    test: Value | None = None


@dataclass(slots=True, eq=False, repr=False)
class Store(Record):
    """A value is put somewhere. `kind` is

    - `name`: a local name, `name` (as in `x = v`; tuple targets give one record each)
    - `global`, `nonlocal`: a name declared so
    - `attribute`: `base.name = v`
    - `item`: `base[index] = v`
    - `method`: `base.append(v)` and other methods that put their argument into the object; `name` is the method

    `augmented` is the operator of `x += v` (`value` is then the whole new value), `base` the object that is changed.
    """

    kind: str
    name: str
    value: Value
    base: Value | None = None
    index: Value | None = None
    augmented: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class Read(Record):
    """A name that is read, with the value that it has there."""

    value: Value


@dataclass(slots=True, eq=False, repr=False)
class Mention(Record):
    """A library's name in code, of those in `removals.NOTED`: `name` is the dotted one, `how` says where it is written.

    `how` is `attribute` (`jax.tree_map`), `import` (`node` is the alias, `statement` the import)
    or `annotation` (a type, which may never be evaluated).
    """

    name: str
    how: str


@dataclass(slots=True, eq=False, repr=False)
class Return(Record):
    """`return`, or `yield` where `kind` says so."""

    kind: str
    value: Value


@dataclass(slots=True, eq=False, repr=False)
class Item(Record):
    """A subscript that is read, `value` is its Value of op `item`."""

    value: Value


@dataclass(slots=True, eq=False, repr=False)
class Arithmetic(Record):
    """A binary operation or comparison; `value` is its Value of op `bin` or `compare`."""

    value: Value


class Function:
    """A function, lambda or method, or the module's own code (`node` is then the Module), and all that it does.

    `id` is `pkg.module:Outer.inner`. `decorators` holds the value of each decorator expression, outermost first.
    `attributes` are the attributes of parameters (its own or of those round it) that its code reads, as Values.
    `owner` is the class of a method, `parent` the function that it is defined in (None for the module).
    """

    __slots__ = (
        "arithmetic",
        "attributes",
        "block",
        "branches",
        "calls",
        "decorators",
        "defined_in",
        "formats",
        "id",
        "is_async",
        "is_generator",
        "items",
        "loops",
        "name",
        "node",
        "owner",
        "parameters",
        "parent",
        "reads",
        "returns",
        "stores",
        "value",
    )

    def __init__(self, id: str, name: str, node: ast.AST, parent: Function | None, owner: Class | None) -> None:
        self.id = id
        self.name = name
        self.node = node
        self.parent = parent
        self.owner = owner
        self.parameters: list[Parameter] = []
        self.decorators: list[Value] = []
        self.is_async = False
        self.is_generator = False
        self.block = Block(None, None, "body", None, None)
        self.defined_in: Block | None = None
        self.calls: list[Call] = []
        self.branches: list[Branch] = []
        self.loops: list[Loop] = []
        self.stores: list[Store] = []
        self.reads: list[Read] = []
        self.returns: list[Return] = []
        self.items: list[Item] = []
        self.arithmetic: list[Arithmetic] = []
        self.attributes: list[Value] = []
        self.formats: list[Value] = []
        self.value: Value = Value("function", node, (), self)

    def __repr__(self) -> str:
        return self.id

    @property
    def is_module(self) -> bool:
        return isinstance(self.node, ast.Module)

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 1)

    def parameter(self, name: str) -> Parameter | None:
        return next((each for each in self.parameters if each.name == name), None)

    def chain(self) -> Iterator[Function]:
        """This function and those that it is defined in, innermost first, the module last."""
        function: Function | None = self
        while function is not None:
            yield function
            function = function.parent


class Class:
    """A class of this file. `attributes` are set in its body, `self_attributes` on `self` by any method."""

    __slots__ = (
        "annotations",
        "attributes",
        "bases",
        "decorators",
        "id",
        "keywords",
        "methods",
        "name",
        "node",
        "parent",
        "self_attributes",
        "value",
    )

    def __init__(self, id: str, name: str, node: ast.ClassDef, parent: Function) -> None:
        self.id = id
        self.name = name
        self.node = node
        self.parent = parent
        self.bases: list[Value] = []
        self.keywords: dict[str, Value] = {}
        self.decorators: list[Value] = []
        self.methods: dict[str, Function] = {}
        self.attributes: dict[str, Value] = {}
        self.annotations: dict[str, Value] = {}
        self.self_attributes: dict[str, list[Value]] = {}
        self.value = Value("class", node, (), self)

    def __repr__(self) -> str:
        return self.id


@dataclass(slots=True)
class Module:
    """One interpreted file: `name` is its dotted import name, `exports` what each global ends up as."""

    name: str
    source: SourceText
    tree: ast.Module
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    exports: dict[str, Value] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    is_package: bool = False
    too_deep: list[int] = field(default_factory=list)
    heads: list[Value] = field(default_factory=list)

    def dismantle(self) -> None:
        """Takes the circles out of the graph of values, so that its memory is free when the last reference goes.

        For who analyses many files with the garbage collector off; nothing of the module may be used afterwards.
        """
        for head in self.heads:
            head.args.clear()
        for function in self.functions:
            for call in function.calls:
                call.result.callee = None
                call.result = None  # type: ignore[assignment]
            for loop in function.loops:
                loop.element = loop.iterable = loop.test = None
            for branch in function.branches:
                branch.value = None
            for name in Function.__slots__:
                held = getattr(function, name)
                if type(held) is list:
                    held.clear()
            function.value = function.parent = function.owner = None  # type: ignore[assignment]
        for each in self.classes:
            each.methods.clear()
            each.attributes.clear()
            each.self_attributes.clear()
            each.value = each.parent = None  # type: ignore[assignment]
        self.exports.clear()
