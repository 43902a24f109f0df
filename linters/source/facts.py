"""What a rule reads. This is the guide for who writes one.

A rule is a module in `rules/` with `BAD` and `GOOD` twins and `RULE = SourceRule(..., check=check)`. `check(facts)`
gets the `FileFacts` of one file and yields findings. It never walks the syntax tree to find out what a name means: it
reads records.

    def check(facts: FileFacts) -> Iterable[Finding]:
        for function in facts.functions:              # all of the file, lambdas too; the module's own code is first
            for call in function.calls:               # records.Call, in program order
                if facts.callee(call).name != "jax.numpy.nonzero":
                    continue                          # through imports, aliases, re-exports, partial, jit
                if "size" in call.keywords or facts.kind(call.args[0]) not in TRACERS:
                    continue
                yield facts.finding(
                    RULE, call.node, "the number of nonzero elements is not known while tracing",
                    because=facts.why(function),      # the chain of transforms, as evidence
                    help="give size= and fill_value=",
                )

## Records (records.py)
`function.calls`, `.branches` (who asks for the truth of a value: if, while, assert, ternary, and, or, not, filter),
`.loops`, `.stores` (names, globals, attributes, items, container methods), `.returns`, `.reads` (names), `.items`
(subscripts), `.arithmetic` (binary operations and comparisons), `.formats` (f-strings). Each has `node`, `block`,
`order`, `function`, `statement`. `function.parameters`, `.decorators`, `.owner` (its class), `.parent`, `.attributes`
(those of parameters that it reads). `facts.classes` has the classes, `facts.module.mentions` where names of
`removals.NOTED` are written. `a.block.excludes(b.block)`: never in the same round (other arms, or one returned before);
`together.together(a.block, b.block)` asks also whether the conditions round both can be so in one run.
`block.loops()`: the loops round it, `facts.round(block, asked)`: whether a block round it is as `asked` says.
`block.guards()`: conditions that hold there, with `then` / `else`.

## Values (values/value.py, a table of ops is there)
Every expression gave one `Value`; a name that is not rebound gives the same object at each read: identity means "the
same thing". `value.op`, `.args`, `.data`, `.node`; a `phi` holds what the paths brought, a `loop` what came before and
out of a round. Calls of project functions are followed by `facts.returned(value)`: what the function returns, as a
Value in terms of the arguments (None where unknown). A name of an enclosing function gives the value it has there.

## Questions
- `facts.kind(value)`: `array` (surely a tracer), `traced` (an argument of a traced function or part of one: a tracer or
  a pytree of tracers), `static` (known while tracing: shapes, constants, static arguments), `host` (numpy or Python
  state), `device` (came out of a compiled function, on the host), `eager` (jax.numpy result on the host), `key`,
  `callable`, `module`, `unknown`. `TRACERS = {"array", "traced"}`. Unknown stays silent.
- `facts.callee(call or value)`: a `Callee`: `.name`, `.function`, `.wraps`, `.jit`, `.bound`; see callee.py.
- `facts.arguments(call)`: parameter name -> Value, for a project function, bound arguments included.
- `facts.traced_functions()`: the functions under a transform, each with its `Traced`; `facts.host_functions()`: others.
- `facts.traced(function)`: `Traced` or None: `.staged`, `.parameters`, `.fixed`, `.chain`.
- `facts.why(function)`: its chain as text. `facts.fixed(value)`: the one constant that a parameter has while traced.
- `facts.constant(value)`: Python value of a literal, a tuple of literals, a name bound to one (other files too); else
  `facts.MISSING`. `facts.strings(value)`: every string a value can be, or None.
- `facts.jit_options(callee)`: `JitOptions` of the jit round it: static and donated positions and names.
- `facts.held(value)`: the kinds of a value and of what it holds, where it is a tuple, list or dict in sight.
- `facts.type_of(value)`: the class that a value is an instance of: id of a project class, or dotted name.
- `facts.is_key(value)`, `facts.key_uses(function)`: what consumes PRNG keys; keys.py has `varies` too.
- `facts.repeated(function)`: the place of a loop on the host that comes to call it. `facts.starts_backend(call)`.
- `facts.is_test`: the file is a test.
- `facts.text(node)`: the source of a node on one line, shortened. `facts.named(value)`: a value as messages call it.
- `facts.line(node)`: its line as a message says it.
- `facts.finding(rule, node, message, ...)`: a Finding at that node.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...contracts.finding import Finding, Location
from .apis import starts_backend
from .callee import Callee
from .fixed import UNDECIDED
from .jit_options import JitOptions
from .keys import KeyUse, key_uses
from .kinds import TRACERS
from .records import Block, Call, Class, Function, Module
from .rule import SourceRule
from .text import is_test_path
from .traced import Traced
from .values.value import Value

if TYPE_CHECKING:
    from .program import Program

__all__ = ["TRACERS", "FileFacts", "Module"]
LONGEST_TEXT = 80


class FileFacts:
    """Everything about one file, linked with the program that it is part of."""

    MISSING: Any = object()

    def __init__(self, module: Module, program: Program) -> None:
        self.module = module
        self.program = program
        self.source = module.source
        self.path = module.source.path
        self.is_test = is_test_path(self.path)
        self._round: dict[Callable[[FileFacts, Block], bool], dict[Block, bool]] = {}

    @property
    def functions(self) -> list[Function]:
        return self.module.functions

    def traced_functions(self) -> Iterator[tuple[Function, Traced]]:
        """The functions that run under a transform, each with how."""
        for function in self.functions:
            traced = self.traced(function)
            if traced is not None:
                yield function, traced

    def host_functions(self) -> Iterator[Function]:
        """The functions that no transform is known of, the module's own code among them."""
        return (function for function in self.functions if self.traced(function) is None)

    @property
    def classes(self) -> list[Class]:
        return self.module.classes

    def round(self, block: Block, asked: Callable[[FileFacts, Block], bool]) -> bool:
        """Whether the answer is yes for a block, or one of those round it. Each block is asked once: chains of `elif`
        may be long.
        """
        known = self._round.setdefault(asked, {})
        path: list[Block] = []
        outer: Block | None = block
        while outer is not None and outer not in known:
            path.append(outer)
            outer = outer.parent
        found = outer is not None and known[outer]
        for each in reversed(path):
            found = known[each] = found or asked(self, each)
        return found

    def kind(self, value: Value) -> str:
        """What a value is; see the module's guide."""
        return value.kind or self.program.kind(value)

    def is_tracer(self, value: Value) -> bool:
        return self.kind(value) in TRACERS

    def callee(self, call: Call | Value) -> Callee:
        """What is called, or what a value would call."""
        value = call.func if isinstance(call, Call) else call
        return value.callee or self.program.callee(value)

    def arguments(self, call: Call) -> dict[str, Value]:
        """The arguments by parameter name, for a function of the project; those behind a star are left out."""
        return self.program.arguments(call)

    def returned(self, value: Value) -> Value | None:
        """What a call of a project function returns, in terms of its arguments; None where unknown."""
        return self.program.returned(value)

    def traced(self, function: Function) -> Traced | None:
        return self.program.traced(function)

    def fixed(self, value: Value) -> Any:
        """The constant that a parameter is in every traced call that is seen; `fixed.UNDECIDED` where it may differ."""
        traced = self.traced(value.data.function)
        return traced.fixed.get(value.data.name, UNDECIDED) if traced is not None else UNDECIDED

    def why(self, function: Function) -> tuple[str, ...]:
        """Why it is traced, for a finding's evidence; `check --why` has the lines."""
        traced = self.traced(function)
        return (traced.told,) if traced else ()

    def constant(self, value: Value | None) -> Any:
        """The Python value of a literal or of what is bound to one, else MISSING."""
        return self.program.constant(value, self.MISSING)

    def strings(self, value: Value | None) -> frozenset[str] | None:
        """All strings that a value can be (a tuple or list of them included); None where one is not known."""
        return self.program.strings(value)

    def repeated(self, function: Function) -> str | None:
        """Where a loop of the host calls a function, or one that calls it: `train.py:88`; None where none is seen."""
        return self.program.repeated(function.id)

    def starts_backend(self, call: Call) -> str | None:
        """The library call that starts a backend when this call runs, itself or in project functions; None without."""
        callee = self.callee(call)
        if callee.function is None:
            return callee.name if not callee.wraps and starts_backend(callee.name) else None
        return None if callee.wraps else self.program.starts_backend(callee.function.id)

    def jit_options(self, callee: Callee) -> JitOptions:
        """Static and donated parameters of the outermost transform that compiles; see calling.JitOptions."""
        return self.program.jit_options(callee)

    def held(self, value: Value) -> set[str]:
        """The kinds of a value and, where it is a container in sight, of what it holds."""
        return self.program.held(value)

    def type_of(self, value: Value) -> str | None:
        return self.program.type_of(value)

    def key_uses(self, function: Function) -> list[KeyUse]:
        """The uses of PRNG keys in a function, in program order."""
        return list(key_uses(self.program, function))

    def is_key(self, value: Value) -> bool:
        """Whether it is a PRNG key or an array of them."""
        return self.kind(value) == "key"

    def text(self, node: ast.AST) -> str:
        """The code of a node on one line, shortened."""
        text = " ".join((self._written(node) or _unparsed(node)).split())
        return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."

    def named(self, value: Value) -> str:
        """A value as a message calls it: the name of a parameter, else the code that it was first written as."""
        if value.op == "param":
            return value.data.name
        if value.node is not None:
            return self.text(value.node)
        inner = next((each for each in value.args if isinstance(each, Value)), None)
        return self.named(inner) if inner is not None else value.op

    def _written(self, node: ast.AST) -> str | None:
        line = getattr(node, "lineno", 0)
        if not line or line != getattr(node, "end_lineno", -1):
            return None
        data = self.source.lines[line - 1].encode("utf-8", "surrogatepass")
        return data[node.col_offset : node.end_col_offset].decode("utf-8", "replace")  # type: ignore[attr-defined]

    def line(self, node: ast.AST | None) -> str:
        """The line of a node as a message says it: `line 12`, in a notebook `line 2 of cell 5`."""
        if not hasattr(node, "lineno"):
            return "another line"
        place = self.source.place(node)
        notebook = self.source.notebook
        if notebook is not None:
            place = notebook.locate(place)
        return f"line {place.line}" if place.cell is None else f"line {place.line} of cell {place.cell}"

    def location(self, node: ast.AST) -> Location:
        """The place of a node, in the text (a notebook's cells are told apart when a report is made)."""
        return self.source.place(node) if hasattr(node, "lineno") else Location(self.path, 1)

    def finding(
        self,
        rule: SourceRule,
        node: ast.AST,
        message: str,
        *,
        subject: str | None = None,
        because: Iterable[str] = (),
        **fields: Any,
    ) -> Finding:
        """A finding of `rule` at a node; the subject is by default the node's code, which survives shifted lines."""
        return rule.finding(
            message,
            subject=subject or self.text(node),
            location=self.location(node),
            evidence=tuple(because),
            **fields,
        )


def _unparsed(node: ast.AST) -> str:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return f"{'class' if isinstance(node, ast.ClassDef) else 'def'} {node.name}"
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
    if isinstance(node, (ast.If, ast.While)):
        return f"{'if' if isinstance(node, ast.If) else 'while'} {ast.unparse(node.test)}"
    try:
        return ast.unparse(node)
    except RecursionError:
        return type(node).__name__
