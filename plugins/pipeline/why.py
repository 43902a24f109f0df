"""`--why FILE:LINE`: the calls and transforms that make the function at a line traced."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...linters.source.text import SourceText
from .settings import Settings
from .source import SettingsOf, collect, options_of

_PLACE = re.compile(r"(?P<name>.+?)(?::cell (?P<cell>[0-9]{1,9}))?:(?P<line>[0-9]{1,9})(?::[0-9]+)?")


def why_traced(place: str, paths: Sequence[str], settings: Settings, settings_of: SettingsOf) -> list[str]:
    """The reasons, one on each line, found in the program that the files at `paths` (default: all here) make.

    Raises ContractLintError for a place that is no `FILE:LINE`, and for a file that cannot be read or parsed.
    """
    asked = _PLACE.fullmatch(place)
    if asked is None or not int(asked["line"]):
        raise ContractLintError(f"{place!r} is no FILE:LINE", help="for example --why train.py:88")
    name = asked["name"]
    sources = collect([*(paths or ["."]), name], settings_of, settings.context)
    file = os.path.realpath(name)
    source = next((each for each in sources.texts.sources if each.file == file), None)
    if source is None:
        problem = next(
            (f for f in sources.texts.findings if f.location and os.path.realpath(f.location.path) == file), None
        )
        raise ContractLintError(
            problem.message if problem else "is no Python source", problem.location if problem else Location(name)
        )
    from ...linters.source.run import Run, understood
    from ...linters.source.why import not_traced, why

    program, findings = understood([*sources.texts.sources, *sources.context], Run(options_of(settings)))
    broken = next((f for f in findings if f.location is not None and f.location.path == source.path), None)
    if broken is not None:
        raise ContractLintError(broken.message, broken.location)
    line = _line(source, int(asked["line"]), int(asked["cell"]) if asked["cell"] else None)
    reasons = why(program, source.path, line)
    where = ", ".join(Path(path).as_posix() for path in (paths or ["."]))
    count = len(sources.texts.sources)
    return [*reasons, f"looked at: {count:,} file{'s' * (count != 1)} at {where}"] if not_traced(reasons) else reasons


def _line(source: SourceText, line: int, cell: int | None) -> int:
    """The line of the text that a place names. Raises ContractLintError where there is none."""
    place = Location(source.path, line, cell=cell)
    if source.notebook is None:
        last = len(source.lines)
        if cell is not None:
            raise ContractLintError("is no notebook: it has no cells", Location(source.path))
        if line > last:
            raise ContractLintError(f"there is no line {line}: the file has {last}", place)
        return line
    if cell is None:
        raise ContractLintError(
            "is a notebook: name the cell", place, f"for example --why '{source.path}:cell 1:{line}'"
        )
    found = next((each for each in source.notebook.cells if each.number == cell), None)
    if found is None:
        numbers = ", ".join(str(each.number) for each in source.notebook.cells)
        raise ContractLintError(f"has no cell {cell} of Python code", place, f"cells with code: {numbers}")
    last = len(found.source.splitlines())
    if line > last:
        raise ContractLintError(f"there is no line {line}: the cell has {last}", place)
    return found.first_line + line - 1
