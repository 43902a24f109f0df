"""Where functions are compiled: each call or decorator of `jax.jit` and its kin, with what it is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .callee import Callee, Wrapped
from .calling import PARTIAL
from .records import Block, Call, Function
from .transforms import COMPILES, WRAPPERS
from .values.value import Value

if TYPE_CHECKING:
    from .facts import FileFacts

HASHES = frozenset({"jax.jit", "jax.pjit", "jax.experimental.pjit.pjit", "flax.nnx.jit", "jax.pmap"})
"""Transforms whose static arguments are part of the key of a cache."""


class Jit:
    """One place that makes a compiled function.

    `call` is the call that makes it (for a decorator, that of the decorator), `function` the code that it stands in,
    `wrapped` the transform with its options, `given` the Value of what is compiled, `callee` what calling the result
    calls.
    """

    __slots__ = ("call", "callee", "function", "given", "wrapped")

    def __init__(self, function: Function, call: Call, callee: Callee, wrapped: Wrapped, given: Value) -> None:
        self.function = function
        self.call = call
        self.callee = callee
        self.wrapped = wrapped
        self.given = given

    @property
    def name(self) -> str:
        """The transform, as messages call it: `jax.jit`, `nnx.jit`."""
        return self.wrapped.name.removeprefix("flax.").removeprefix("jax.experimental.pjit.")


def jits(facts: FileFacts, names: frozenset[str] = COMPILES) -> Iterator[Jit]:
    """The places of a file where one of these transforms is applied to a function, in program order."""
    for function in facts.functions:
        for call in function.calls:
            maker = facts.callee(call)
            if maker.name not in names or maker.wraps:
                continue
            made = facts.callee(call.result)
            wrapped = made.wraps[0] if made.wraps else None
            if wrapped is None or wrapped.value is not call.result:
                continue
            given = maker.bound[0] if maker.bound else call.argument(0) or given_by_keyword(call)
            if given is not None:
                yield Jit(function, call, made, wrapped, given)


def given_by_keyword(call: Call) -> Value | None:
    """The function that a transform is given by its keyword."""
    return next((call.keywords[name] for name in ("fun", "f", "func", "fn") if name in call.keywords), None)


class Fresh:
    """A function object that is made anew whenever the code comes by: `what` it is, the `block` where it is made."""

    __slots__ = ("block", "value", "what")

    def __init__(self, what: str, block: Block | None, value: Value) -> None:
        self.what = what
        self.block = block
        self.value = value


def fresh(facts: FileFacts, value: Value, function: Function, depth: int = 0) -> Fresh | None:
    """What makes a function value a new object in each run of `function`; None where it lives longer, or is not known.

    JAX knows functions by identity and equality: a lambda, a function defined here, a partial and what a transform
    gives are equal to none that was made before.
    """
    if depth > 4:
        return None
    if value.op == "function":
        inner: Function = value.data
        if inner.parent is not function or function.is_module or inner.owner is not None:
            return None
        what = "a lambda made here" if inner.name.startswith("<") else f"{inner.name}(), a function made here"
        return Fresh(what, inner.defined_in, value)
    if value.op == "call":
        call: Call = value.data
        if call.function is not function or function.is_module:
            return None
        maker = facts.callee(call)
        if maker.wraps or maker.name is None:
            return None
        last = maker.name.rpartition(".")[2]
        if maker.name in PARTIAL or maker.name in WRAPPERS:
            if call.decorates is not None:
                return fresh(facts, call.args[0], function, depth + 1) if call.args else None
            given = call.args[0] if call.args else given_by_keyword(call)
            what = f"a {last} made here" if maker.name in PARTIAL else f"what {last} makes here"
            return Fresh(what, call.block, value) if given is not None else None
        if maker.function is not None and not _remembers(facts, maker.function.id):
            made = facts.returned(value)
            inner_one = facts.program.function(made.data) if made is not None and made.op == "ref" else None
            partial = made is not None and made.op == "call" and facts.callee(made.data.func).name in PARTIAL
            if partial or (inner_one is not None and inner_one.parent == maker.function.id):
                return Fresh(f"a function that {maker.function.name}() makes", call.block, value)
    return None


def _remembers(facts: FileFacts, id: str) -> bool:
    """Whether a decorator keeps what the function returned before."""
    function = facts.program.function(id)
    return function is not None and any("cache" in str(each) for each in function.data.get("d", ()))


def static_arguments(facts: FileFacts, call: Call) -> Iterator[tuple[str, Value]]:
    """The arguments of a call that the compiled function takes as static ones, each with how the call names it."""
    callee = facts.callee(call)
    jit = callee.jit
    if jit is None or jit.name not in HASHES:
        return
    options = facts.jit_options(callee)
    if not options.static_numbers and not options.static_names:
        return
    for at, value in enumerate(call.args):
        if value.op == "star":
            break
        if options.is_static(at):
            yield f"{at}", value
    for name, value in call.keywords.items():
        if name is not None and options.is_static(None, name):
            yield name, value
