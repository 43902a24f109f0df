"""Functions whose failure under a transform is meant: every call that is seen stands where its error is expected.

A test that shows that JAX refuses something says so round the call of what it traces, not in the function that fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .program import Program

_DEEPEST = 6
_NONE: frozenset[str] = frozenset()


def expect(program: Program) -> None:
    """Notes for traced functions the names of the errors that all calls of them expect, where there are any."""
    sites = _Sites(program)
    if sites.at or sites.handed:
        for id, traced in program.traced_functions.items():
            traced.expected = tuple(sorted(sites.expected(id)))


class _Sites:
    """Where errors are expected: `at` by function and line, `handed` for functions that `self.assertRaises` calls."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[str, frozenset[str]] = {}
        self.at: dict[tuple[str, int], frozenset[str]] = {}
        self.handed: dict[str, list[frozenset[str]]] = {}
        for id, (data, _) in program.function_data.items():
            for at, errors, argument in data.get("x", ()):
                call = data["c"][at]
                if argument is None:
                    self.at[id, call[3]] = frozenset(errors)
                    continue
                function = program.function(id)
                given = program.callee(program.thaw(call[1][argument], function)) if function is not None else None
                if given is not None and given.function is not None:
                    self.handed.setdefault(given.function.id, []).append(frozenset(errors))

    def expected(self, id: str, depth: int = 0) -> frozenset[str]:
        """What all calls of a function expect, where they stand or round the function that calls."""
        known = self._known.get(id)
        if known is not None or depth > _DEEPEST:
            return known or _NONE
        self._known[id] = _NONE
        common: frozenset[str] | None = None
        for errors in self.handed.get(id, ()):
            common = errors if common is None else common & errors
        for caller, line, _ in self._program.callers.get(id, ()):
            if caller == id:
                continue
            here = self.at.get((caller, line))
            if here is None and not self._traces(caller, line, id):
                continue
            here = here or self.expected(caller, depth + 1)
            common = here if common is None else common & here
            if not common:
                return _NONE
        self._known[id] = common or _NONE
        return self._known[id]

    def _traces(self, caller: str, line: int, id: str) -> bool:
        """Whether a call traces the function, if any does: on the host, it may as well run as it is."""
        program = self._program
        if id not in program.traced_functions or caller in program.traced_functions:
            return True
        for call in program.function_data[caller][0]["c"]:
            if call[3] == line:
                callee = program.frozen_callee(call[0], caller)
                if callee.wraps and callee.function is not None and callee.function.id == id:
                    return True
        return False
