"""The name that each file of a program is imported by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from .analyse import module_name
from .text import SourceText

Named = tuple[str, bool]
"""The dotted name of a module, and whether it is a package's `__init__`."""


def module_names(sources: Sequence[SourceText]) -> list[Named]:
    """The names, in the order of the files; a name that two files have goes to the first, the other's is its path."""
    packages = frozenset(
        str(PurePosixPath(each.path).parent) for each in sources if PurePosixPath(each.path).name == "__init__.py"
    )
    taken: set[str] = set()
    found = []
    for source in sources:
        name, package = module_name(source, packages)
        if name in taken:
            name = source.path.removesuffix(".py").replace("/", ".")
        while name in taken:
            name += "_"
        taken.add(name)
        found.append((name, package))
    return found
