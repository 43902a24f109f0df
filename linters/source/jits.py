"""Where functions are compiled: each call or decorator of `jax.jit` and its kin, with what it is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .callee import Callee, Wrapped
from .jit_options import HIDDEN, options_of
from .records import Call, Function
from .transforms import COMPILES
from .values.value import Value, spread

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


def static_arguments(facts: FileFacts, call: Call) -> Iterator[tuple[str, Value]]:
    """The arguments of a call that the compiled function takes as static ones, each with how the call names it."""
    callee = facts.callee(call)
    jit = callee.jit
    if jit is None or jit.name not in HASHES:
        return
    options = facts.jit_options(callee)
    if not options.static_numbers and not options.static_names:
        return
    for at, value in enumerate(spread(call.args)):
        if value.op == "star":
            break
        if options.is_static(at):
            yield f"{at}", value
    for name, value in options_of(call.keywords).items():
        if name != HIDDEN and options.is_static(None, name):
            yield name, value
