"""What a transform that compiles is told of its parameters: which are static, which are donated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .callee import Callee, Wrapped
from .constants import Constants
from .values.value import Value

HIDDEN = "**"
"""In place of the name of an option: what a call hands on with `**`, where that is not in sight."""


@dataclass(frozen=True, slots=True)
class JitOptions:
    """The static and donated parameters of a jitted callee.

    `static_numbers`, `donated_numbers` count the arguments of a call of it, `static_names`, `donated_names` are
    parameter names; each is None where it is computed from what is not known. With a known signature, names and
    numbers are both complete. `all_donated` is equinox's `donate="all"`.
    """

    static_numbers: frozenset[int] | None
    static_names: frozenset[str] | None
    donated_numbers: frozenset[int] | None
    donated_names: frozenset[str] | None
    all_donated: bool = False

    def is_static(self, number: int | None, name: str | None = None) -> bool:
        return number in (self.static_numbers or ()) or name in (self.static_names or ())

    def is_donated(self, number: int | None, name: str | None = None) -> bool:
        return self.all_donated or number in (self.donated_numbers or ()) or name in (self.donated_names or ())


class Jitting(Constants):
    """The part of `Program` about the options of compiled functions."""

    def jit_options(self, callee: Callee) -> JitOptions:
        """Static and donated parameters of the outermost transform that compiles (or of the outermost one)."""
        wrapped = callee.jit or (callee.wraps[0] if callee.wraps else None)
        if wrapped is None:
            none: frozenset[int] = frozenset()
            return JitOptions(none, frozenset(), none, frozenset())
        options = wrapped.options
        static = self._options(wrapped, "static_argnums", "static_argnames", callee)
        if wrapped.name == "jax.pmap" or "static_broadcasted_argnums" in options:
            static = self._options(wrapped, "static_broadcasted_argnums", "static_argnames", callee)
        donated = self._options(wrapped, "donate_argnums", "donate_argnames", callee)
        every = self.constant(options.get("donate"), None) in ("all", "all-except-first", "warn")
        return JitOptions(*static, *donated, every)

    def _options(
        self, wrapped: Wrapped, numbers: str, names: str, callee: Callee
    ) -> tuple[frozenset[int] | None, frozenset[str] | None]:
        options = wrapped.options
        if HIDDEN in options and numbers not in options and names not in options:
            return None, None
        found: frozenset[int] | None = frozenset()
        named: frozenset[str] | None = frozenset()
        if numbers in options:
            value = self.constant(options[numbers], None)
            value = (value,) if type(value) is int else value
            if value is None and options[numbers].op == "const":
                value = ()
            found = frozenset(value) if isinstance(value, tuple) and all(type(each) is int for each in value) else None
        if names in options:
            named = self.strings(options[names])
            if named is None and options[names].op == "const":
                named = frozenset()
        function = callee.function
        if function is None or found is None or named is None:
            return found, named
        # The transform counts from what was bound when it was applied, a call from what is bound by then.
        every = [each.name for each in function.parameters if each.kind == "positional"]
        positional, later = every[wrapped.inside :], len(callee.bound) - wrapped.inside
        count = len(positional)
        found = frozenset(each + count if each < 0 else each for each in found)
        by_number = {positional[each] for each in found if 0 <= each < count}
        by_name = {positional.index(each) for each in named if each in positional}
        return frozenset(each - later for each in found | by_name if each >= later), named | by_number


def options_of(keywords: Mapping[str | None, Value]) -> dict[str, Value]:
    """What a call gives by name, an option of a transform say, with what a dictionary in sight holds behind `**`."""
    options: dict[str, Value] = {}
    for name, each in keywords.items():
        names = [key.data if key and key.op == "const" else None for key in each.data] if each.op == "dict" else [None]
        if name is not None and name != HIDDEN:
            options[name] = each
        elif all(type(key) is str for key in names):
            options.update((str(key), value) for key, value in zip(names, each.args, strict=True))
        else:
            options[HIDDEN] = each
    return options
