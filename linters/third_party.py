"""Rules of other packages, and the code that they are written in.

A third-party package adds rules with

    [project.entry-points."contract_lint.rules"]
    my_rules = "my_package.rules:RULES"

where RULES is a list of `contract_lint.linters.rule.Rule`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from ..contracts.errors import ContractLintError
from .rule import Rule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "contract_lint.rules"


@cache
def third_party_rules() -> tuple[Rule, ...]:
    """Rules that other packages register.

    Raises ContractLintError, with the name of the entry point, where one does not load or is not a list of rules.
    """
    found: list[Rule] = []
    for point in _points():
        try:
            rules = point.load()
        except Exception as error:
            raise ContractLintError(
                f"entry point {point.name!r} of {ENTRY_POINT_GROUP} does not load: {type(error).__name__}: {error}",
                help="reinstall or remove the package that provides it",
            ) from error
        if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, Rule) for rule in rules):
            raise ContractLintError(
                f"entry point {point.name!r} of {ENTRY_POINT_GROUP} is not a list of Rule, found {type(rules).__name__}"
            )
        found.extend(rules)
    return tuple(found)


def third_party_code() -> list[tuple[str, int, int]]:
    """Name, size and time of change of every file that these rules may be written in: their packages, from the top.

    Whoever keeps what rules said keeps it for these files. Raises ContractLintError as `third_party_rules` does.
    """
    third_party_rules()
    found: set[tuple[str, int, int]] = set()
    for file in {file for point in _points() for file in _files(point.module)}:
        with suppress(OSError):
            about = os.stat(file)
            found.add((file, about.st_size, about.st_mtime_ns))
    return sorted(found)


def _files(module: str) -> Iterable[str]:
    """The files of the outermost package that holds a module; a namespace that many share is none."""
    names = accumulate(module.split("."), lambda outer, name: f"{outer}.{name}")
    package = next((found for name in names if (found := sys.modules.get(name)) and found.__file__), None)
    if package is None or package.__file__ is None:
        return ()
    if not hasattr(package, "__path__"):
        return (package.__file__,)
    return (
        os.path.join(folder, name)
        for top in package.__path__
        for folder, _, names in os.walk(top)
        for name in names
        if not name.endswith(".pyc")
    )


@cache
def _points() -> tuple[EntryPoint, ...]:
    """The entry points of our group."""
    if not _registered():
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=ENTRY_POINT_GROUP))


def _registered() -> bool:
    """Whether any installed package names our group: looking is far cheaper than loading what reads entry points."""
    for folder in sys.path:
        with suppress(OSError), os.scandir(folder or ".") as entries:
            for entry in entries:
                if entry.name.endswith(("-info", ".egg", ".whl", ".zip")) and _names_group(entry.path):
                    return True
    return False


def _names_group(path: str) -> bool:
    if os.path.isfile(path):
        return path.endswith((".egg", ".whl", ".zip"))
    for name in ("entry_points.txt", "EGG-INFO/entry_points.txt"):
        with suppress(OSError), open(os.path.join(path, name), "rb") as file:
            if ENTRY_POINT_GROUP.encode() in file.read():
                return True
    return False
