"""The whole program: summaries linked, and every question that rules ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from .calling import Calling, Given
from .expected import expect
from .importing import Importing
from .kinds import Kinds
from .link import Linker
from .options import SourceOptions
from .records import Function
from .summary import FileSummary
from .text import is_test_path
from .traced import Traced

MOST_CALLERS = 60
MOST_FUNCTIONS = 4000
"""Functions of other files that are remembered at a time."""


class Program(Calling, Kinds, Importing):
    """All files by their summaries. The file under analysis is asked about by its own records; ids join the two."""

    def __init__(self, summaries: Iterable[FileSummary], options: SourceOptions | None = None) -> None:
        super().__init__(summaries)
        self.options = options or SourceOptions()
        self.bindings: Mapping[tuple[str, int], list[Given]] = {}
        self.traced_functions: Mapping[str, Traced] = {}
        self.host_functions: set[str] = set()
        self._returned, self._frozen_callees, self._bound_values = {}, {}, {}
        self._consumed: dict[str, frozenset[str]] = {}
        self._starts: dict[str, str | None] = {}
        self.x64 = any(file.data.get("x64") for file in self.files.values())
        """Whether any file turns JAX's mode of 64 bits on."""

    def traced(self, function: Function | Any) -> Traced | None:
        """Whether and why a function is traced."""
        return self.traced_functions.get(function.id) if function is not None else None

    @cached_property
    def callers(self) -> Mapping[str, list[tuple[str, int, bool]]]:
        """For each function the calls of it: id of the caller, line, whether it stands in a loop."""
        found: dict[str, list[tuple[str, int, bool]]] = {}
        for id, (data, _) in self.function_data.items():
            if not data["c"]:
                continue
            self.make_room()
            looped = frozenset(data.get("w", ()))
            for at, frozen in enumerate(data["c"]):
                target = self._target(frozen[0], id)
                if target is not None:
                    found.setdefault(target, []).append((id, frozen[3], at in looped))
        self.begin()
        return found

    def _target(self, func: Any, caller: str) -> str | None:
        """The id of the project function that a call in a summary comes to in the end."""
        target = self.plain_target(func)
        if target is not None or not func or (func[0] == "n" and self.resolve(func[1]) is None):
            return target
        function = self.frozen_callee(func, caller).function
        return function.id if function is not None else None

    def repeated(self, id: str) -> str | None:
        """Where a function, or one that calls it, is called in a loop of the host: `train.py:88`; else None."""
        seen, stack = {id}, [id]
        while stack and len(seen) < MOST_CALLERS:
            for caller, line, looped in self.callers.get(stack.pop(), ()):
                data, file = self.function_data[caller]
                if caller in seen or caller in self.traced_functions or is_test_path(file.path):
                    continue
                if looped:
                    return f"{file.path}:{line}"
                seen.add(caller)
                if data["n"] != "<module>":
                    stack.append(caller)
        return None

    def starts_backend(self, id: str) -> str | None:
        """The call that starts a backend when this function runs, in it or in one that it calls; None where none is."""
        if id not in self._starts:
            self._starts[id] = None
            self._starts[id] = self._started(id)
        return self._starts[id]

    def _started(self, id: str) -> str | None:
        function = self.function(id)
        if function is None or function.data.get("g"):
            return None
        if "b" in function.data:
            return function.data["b"]
        for frozen in function.calls:
            callee = self.frozen_callee(frozen[0], id)
            if callee.function is not None and not callee.wraps and callee.function.id != id:
                found = self.starts_backend(callee.function.id)
                if found is not None:
                    return found
        return None

    @cached_property
    def starting(self) -> dict[str, str]:
        """All functions of the program that start a backend when they run, with the call that does."""
        seen = [id for id, (data, _) in self.function_data.items() if "b" in data]
        known = set(seen)
        for id in seen:  # grows
            for caller, _, _ in self.callers.get(id, ()):
                if caller not in known:
                    known.add(caller)
                    seen.append(caller)
        return {id: found for id in sorted(seen) if (found := self.starts_backend(id)) is not None}

    def consumed(self, id: str) -> frozenset[str]:
        """The parameters that a function uses up as PRNG keys, itself or through those it calls."""
        known = self._consumed.get(id)
        if known is not None:
            return known
        self._consumed[id] = frozenset()
        function = self.function(id)
        if function is None:
            return frozenset()
        found = set(function.data.get("k", ()))
        for func, args, keywords, _ in function.calls:
            passed = {each[2] for each in (*args, *keywords.values()) if each and each[0] == "p" and not each[1]}
            if all(function.parameters[at].name in found for at in passed):
                continue
            callee = self.frozen_callee(func, id)
            if callee.function is None or not (used := self.consumed(callee.function.id)):
                continue
            given = {None if name == "**" else name: self.thaw(each, function) for name, each in keywords.items()}
            matched = self.matched(callee, [self.thaw(each, function) for each in args], given)
            for name in used:
                value = matched.get(name)
                if value is not None and value.op == "param" and value.data.function.id == id:
                    found.add(value.data.name)
        self._consumed[id] = frozenset(found)
        return self._consumed[id]

    def dismantle(self) -> None:
        """Takes the circles apart, for who works with the collector off; the program is of no use afterwards."""
        self.forget()
        for function in self._functions.values():
            function.close()
        self.__dict__.clear()

    def forget(self) -> None:
        super().forget()
        self._returned.clear()
        self._kinds_returned.clear()

    def forget_names(self) -> None:
        super().forget_names()
        self._consumed.clear()
        self._starts.clear()

    def begin(self) -> None:
        """Forgets all that was remembered: what is said of a file does not depend on which was judged before it."""
        self.forget()
        self.forget_names()

    def make_room(self) -> None:
        """Forgets what was remembered where it has become much."""
        if len(self._functions) > MOST_FUNCTIONS:
            self.begin()


def link(summaries: Iterable[FileSummary], options: SourceOptions | None = None) -> Program:
    """The program that these files make."""
    program = Program(summaries, options)
    Linker(program).run()
    program.begin()
    assert program.callers is not None  # found now: what is remembered is forgotten on the way
    expect(program)
    program.begin()
    return program
