"""The whole program: summaries linked, and every question that rules ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .calling import Calling
from .kinds import Kinds
from .link import Linker
from .options import SourceOptions
from .records import Function
from .summary import FileSummary
from .traced import Traced
from .values.value import Value


class Program(Calling, Kinds):
    """All files by their summaries. The file under analysis is asked about by its own live records; ids join the two."""

    def __init__(self, summaries: Iterable[FileSummary], options: SourceOptions | None = None) -> None:
        super().__init__(summaries)
        self.options = options or SourceOptions()
        self.bindings: dict[tuple[str, int], list[Value]] = {}
        self.traced_functions: dict[str, Traced] = {}
        self.host_functions: set[str] = set()
        self._returned = {}

    def traced(self, function: Function | Any) -> Traced | None:
        """Whether and why a function is traced."""
        return self.traced_functions.get(function.id) if function is not None else None

    def forget(self) -> None:
        """Drops what was remembered about the values of one file."""
        self._returned.clear()


def link(summaries: Iterable[FileSummary], options: SourceOptions | None = None) -> Program:
    """The program that these files make."""
    program = Program(summaries, options)
    Linker(program).run()
    program.forget()
    return program
