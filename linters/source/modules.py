"""The name that each file of a program is imported by."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from pathlib import PurePosixPath

from .text import SourceText

Named = tuple[str, bool]
"""The dotted name of a module, and whether it is a package's `__init__`."""


def module_name(source: SourceText, packages: frozenset[str] = frozenset()) -> Named:
    """The name that a file is imported by, and whether it is a package's `__init__`.

    Folders that hold an `__init__.py` (on disk, or among `packages`, the folders of the files at hand) belong to it.
    """
    return _named(source, packages, {})


def module_names(sources: Sequence[SourceText]) -> list[Named]:
    """The names, in the order of the files; a name that two files have goes to the first, the other's is its path."""
    packages = frozenset(_plain(posixpath.dirname(each.path)) for each in sources if each.path.endswith("/__init__.py"))
    taken: set[str] = set()
    found: list[Named] = []
    known: dict[tuple[str, str], tuple[str, ...]] = {}
    for source in sources:
        name, package = _named(source, packages, known)
        if name in taken:
            name = source.path.removesuffix(".py").replace("/", ".").replace(":", "_")
        while name in taken:
            name += "_"
        taken.add(name)
        found.append((name, package))
    return found


def _named(source: SourceText, packages: frozenset[str], known: dict[tuple[str, str], tuple[str, ...]]) -> Named:
    folder, name = posixpath.split(_plain(source.path))
    stem = name[: name.rfind(".")] if name.rfind(".") > 0 else name
    last = [] if stem == "__init__" else [stem]
    real = os.path.dirname(source.file) if source.file else ""
    key = (folder, real)
    above = known.get(key)
    if above is None:
        above = known[key] = _packages(folder, real, packages)
    parts = [*above, *last]
    if not parts or (len(parts) == 1 and not real):
        # As far as can be seen, it is imported from the folder that all are shown from.
        parts = [*(each for each in folder.split("/") if each), *last]
    return ".".join(parts).replace(":", "_") or "__init__", stem == "__init__"  # a colon ends the module in an id


def _plain(path: str) -> str:
    """A path as `pathlib` writes it; most are."""
    return str(PurePosixPath(path)) if "//" in path or "./" in path else path


def _packages(folder: str, real: str, packages: frozenset[str]) -> tuple[str, ...]:
    """The names of the packages that a folder is, from the outermost."""
    parts: list[str] = []
    while posixpath.basename(folder) not in ("", ".") and (
        folder in packages or (real and os.path.exists(os.path.join(real, "__init__.py")))
    ):
        parts.insert(0, posixpath.basename(folder))
        folder = posixpath.dirname(folder)
        real = os.path.dirname(real) if real else ""
    return tuple(parts)
