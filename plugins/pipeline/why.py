"""`--why FILE:LINE`: the calls and transforms that make the function at a line traced."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from .settings import Settings
from .source import SettingsOf, collect, options_of


def why_traced(place: str, paths: Sequence[str], settings: Settings, settings_of: SettingsOf) -> list[str]:
    """The reasons, one on each line, found in the program that the files at `paths` (default: all here) make.

    Raises ContractLintError for a place that is no `FILE:LINE`, and for a file that cannot be read or parsed.
    """
    name, _, number = place.rpartition(":")
    if not name or not number.isdecimal() or not int(number):
        raise ContractLintError(f"{place!r} is no FILE:LINE", help="for example --why train.py:88")
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
    from ...linters.source.why import why

    program, findings = understood([*sources.texts.sources, *sources.context], Run(options_of(settings)))
    broken = next((f for f in findings if f.location is not None and f.location.path == source.path), None)
    if broken is not None:
        raise ContractLintError(broken.message, broken.location)
    return why(program, source.path, int(number))
