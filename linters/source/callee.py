"""What a call calls, with everything that was wrapped round it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .transforms import COMPILES
from .values.value import Parameter, Value


class Signature(Protocol):
    """What is known of a function of the project wherever it is: a `Function` of this file or a summary of another."""

    id: str

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> list[Parameter]: ...

    @property
    def line(self) -> int: ...


class Wrapped:
    """A transform that was applied: its dotted `name`, and its `options` (static_argnums, donate_argnames, ...).

    `inside` is how many arguments were bound to the function before the transform was applied.

    `value` is the Value of the call of the transform, or of the bare decorator. `in_file` is the path of the file where
    it stands, when that is another one.
    """

    __slots__ = ("in_file", "inside", "name", "options", "value")

    def __init__(
        self, name: str, options: Mapping[str, Value], value: Value, in_file: str | None = None, inside: int = 0
    ) -> None:
        self.name = name
        self.options = options
        self.value = value
        self.in_file = in_file
        self.inside = inside

    def __repr__(self) -> str:
        return self.name


class Callee:
    """The function at the bottom, and what stands between it and its caller.

    - `name`: dotted name of what is called in the end: `jax.numpy.sin`, `builtins.len`, `my_pkg.train.loss_fn`; for a
      method of something unknown `.name` (`x.astype` gives `.astype`); None where nothing is known
    - `function`: signature of a function of the project; `cls` for a class that is instantiated (its id)
    - `wraps`: transforms round it, the outermost first; `jit` is the outermost one that compiles
    - `bound`: arguments that come before those of the call (partial, the instance of a method); `bound_keywords`
    - `instance`: the object of a bound method
    """

    __slots__ = ("bound", "bound_keywords", "cls", "function", "instance", "name", "wraps")

    def __init__(
        self,
        name: str | None = None,
        function: Signature | None = None,
        cls: str | None = None,
        wraps: Sequence[Wrapped] = (),
        bound: Sequence[Value] = (),
        bound_keywords: Mapping[str, Value] | None = None,
        instance: Value | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.cls = cls
        self.wraps = tuple(wraps)
        self.bound = tuple(bound)
        self.bound_keywords: Mapping[str, Value] = bound_keywords or {}
        self.instance = instance

    @property
    def jit(self) -> Wrapped | None:
        return next((wrap for wrap in self.wraps if wrap.name in COMPILES), None)

    def with_(self, **changes: Any) -> Callee:
        """A copy with other fields."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changes
        return Callee(**fields)

    def __repr__(self) -> str:
        return f"<callee {self.name} {list(self.wraps)}>"


NOTHING = Callee()
