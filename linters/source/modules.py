"""The name that each file of a program is imported by."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePosixPath

from .text import SourceText

Named = tuple[str, bool]
"""The dotted name of a module, and whether it is a package's `__init__`."""


def module_name(source: SourceText, packages: frozenset[str] = frozenset()) -> Named:
    """The name that a file is imported by, and whether it is a package's `__init__`.

    Folders that hold an `__init__.py` (on disk, or among `packages`, the folders of the files at hand) belong to it.
    """
    path = PurePosixPath(source.path)
    parts = [path.stem] if path.stem != "__init__" else []
    folder = path.parent
    real = os.path.dirname(source.file) if source.file else ""
    while folder.name and (
        folder.as_posix() in packages or (real and os.path.exists(os.path.join(real, "__init__.py")))
    ):
        parts.insert(0, folder.name)
        folder = folder.parent
        real = os.path.dirname(real) if real else ""
    if not parts or (len(parts) == 1 and not real):
        parts = [
            each for each in (*path.parent.parts, *([path.stem] if path.stem != "__init__" else [])) if each != "/"
        ]
    return ".".join(parts) or "__init__", path.stem == "__init__"


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
