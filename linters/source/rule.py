"""A rule about source, and the examples that prove it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import Any, Literal

from ..rule import Evidence, Rule

MARK = "# bad"
Safety = Literal["safe", "unsafe"]


class Example:
    """A small program that a rule must find at fault (each line that ends with `# bad`, and no other), or leave alone.

    `run` is code that executes the example with jax; `raises` names the exception that it then ends with, for a rule
    whose faults JAX itself refuses. A good twin's `run` must pass. `files` are further modules, by path, that the
    example imports; `also` names other rules that rightly fire on it.
    """

    __slots__ = ("_files", "_source", "also", "name", "raises", "run")

    def __init__(
        self,
        name: str,
        source: str,
        raises: str | None = None,
        run: str | None = None,
        files: Mapping[str, str] | None = None,
        also: tuple[str, ...] = (),
    ) -> None:
        self.name, self.raises, self.run, self.also = name, raises, run, also
        self._source, self._files = source, files or {}

    @property
    def source(self) -> str:
        """The program at the left margin: a run of the linter, which loads all rules, does not ask for it."""
        return dedent(self._source).lstrip("\n")

    @property
    def files(self) -> dict[str, str]:
        return {path: dedent(text).lstrip("\n") for path, text in self._files.items()}

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines that are to be found, from 1."""
        lines = enumerate(self.source.splitlines(), 1)
        return tuple(number for number, text in lines if text.rstrip().endswith(MARK))

    @property
    def shown(self) -> str:
        """The example as documentation shows it."""
        return self.source.rstrip("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRule(Rule):
    """A rule that reads `facts.FileFacts` of one file; see there for how to write one.

    `preview` rules run only with `--preview`. `skips_tests` ones look at no test file: what is slow or risky in
    training is often the point of a test. `fix` says whether findings carry a fix, and of which kind at best.
    """

    evidence: Evidence = "source"
    check: Callable[[Any], Iterable[Any]]
    bad: tuple[Example, ...]
    good: tuple[Example, ...]
    preview: bool = False
    skips_tests: bool = False
    fix: Safety | None = None
