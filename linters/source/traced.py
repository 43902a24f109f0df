"""Whether a function ever runs under a JAX transform, why, and what its parameters are then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .text import is_test_path

CONCRETE, HIDDEN, STAGED = range(3)
"""How far tracers are from their numbers; the furthest of the transforms round a function counts."""


@dataclass(frozen=True, slots=True)
class Why:
    """One link of the chain from a transform to a function: `train.py:88 jax.jit(train_step)`."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.text}"


def is_conventional(chain: tuple[Why, ...]) -> bool:
    """Whether no transform is seen: the chain begins with a method that modules are run by."""
    return " method " in chain[0].text


def only_in_tests(traced: Traced) -> bool:
    """Whether nothing but tests traces a function: what uses it may as well call it as it is."""
    return is_test_path(traced.chain[0].path)


@dataclass(slots=True)
class Traced:
    """A function that is traced. `chain` leads from the transform to it.

    `staged` says that every jax.numpy operation in it gives a tracer (under jit, scan, cond, ...); under vmap or grad
    alone only those on a mapped or differentiated argument do. `hides` says that the numbers behind tracers are out of
    reach (under vmap too); where only derivatives lead here, each tracer has its number with it. `expected` names the
    errors that every call seen expects, or goes on after. `parameters` has for each name `traced` (a tracer, or a
    pytree of them), `static` (a Python value while tracing), `input` (what a module
    is given: a tracer, a tree of them or a setting) or `unknown`; `fixed` has those
    that are the same constant in every traced call that is seen. `transform` is the dotted name of the outermost
    transform, `direct` whether the function itself was handed to one.
    """

    transform: str
    chain: tuple[Why, ...]
    stage: int
    direct: bool
    parameters: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)
    expected: tuple[str, ...] = ()

    @property
    def staged(self) -> bool:
        return self.stage == STAGED

    @property
    def hides(self) -> bool:
        return self.stage > CONCRETE

    @property
    def told(self) -> str:
        """The chain without lines, as findings give it: it does not change when lines of other files shift."""
        return "traced: " + " -> ".join([*(f"{each.path} {each.text}" for each in self.chain), "here"])

    def __str__(self) -> str:
        return "traced: " + " -> ".join([*map(str, self.chain), "here"])
