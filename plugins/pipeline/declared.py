"""What a project declares of the packages it is written for: `[project]` of a pyproject.toml, requirement files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_NAME = re.compile(r"\s*([A-Za-z0-9][-\w.]*)\s*(?:\[[^\]]*\])?\s*([^;]*)")


def requirements(data: Mapping[str, Any], folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and version specifier of all that `[project]` requires, optional groups and Python itself included.

    What it does not name may stand in a `requirements*.txt` beside it.
    """
    project = data.get("project")
    project = project if isinstance(project, dict) else {}
    listed: list[Any] = list(_sequence(project.get("dependencies")))
    optional = project.get("optional-dependencies")
    for group in optional.values() if isinstance(optional, dict) else ():
        listed += _sequence(group)
    listed += _lines_of_requirements(folder)
    found: dict[str, str] = {}
    for entry in listed:
        match = _NAME.match(entry) if isinstance(entry, str) else None
        if match is not None:
            name = re.sub(r"[-_.]+", "-", match[1]).lower()
            found.setdefault(name, match[2].strip().strip("()"))
    python = project.get("requires-python")
    if isinstance(python, str):
        found["python"] = python
    return tuple(sorted(found.items()))


def _lines_of_requirements(folder: Path) -> list[str]:
    """The lines of the requirement files of a folder, comments and options of pip left out."""
    lines: list[str] = []
    for path in sorted(folder.glob("requirements*.txt")):
        with suppress(OSError, UnicodeDecodeError):
            lines += path.read_text(encoding="utf-8").splitlines()
    return [line.split(" #")[0] for line in lines if not line.lstrip().startswith(("#", "-"))]


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
