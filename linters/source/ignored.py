"""What git ignores: the `.gitignore` files from the top of the work tree down to a file, the nearest one last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

NAME = ".gitignore"


class Ignored:
    """Answers whether a path below `start` is ignored. Files of patterns are read once; the first imports `pathspec`.

    Where `start` itself is ignored, it was named on purpose: only patterns in it and below count.
    """

    def __init__(self, start: str) -> None:
        self._specs: dict[str, Any] = {}
        self._top = _top(start)
        above = [folder for folder in self._folders(start) if folder != self._top]
        if any(self(folder, True) for folder in above):
            self._top = start

    def __call__(self, path: str, is_folder: bool) -> bool:
        """Whether the nearest `.gitignore` that says anything about the absolute `path` ignores it."""
        for folder in self._folders(os.path.dirname(path)):
            spec = self._spec(folder)
            if spec is None:
                continue
            relative = os.path.relpath(path, folder).replace(os.sep, "/")
            said = spec.check_file(f"{relative}/" if is_folder else relative).include
            if said is not None:
                return said
        return False

    def _folders(self, folder: str) -> Iterator[str]:
        """`folder` and those above it, up to the top of the work tree; none outside of one."""
        if self._top is None or not (folder + os.sep).startswith(self._top.rstrip(os.sep) + os.sep):
            return
        yield folder
        while folder != self._top:
            folder = os.path.dirname(folder)
            yield folder

    def _spec(self, folder: str) -> Any:
        if folder not in self._specs:
            self._specs[folder] = _read(os.path.join(folder, NAME))
        return self._specs[folder]


def _read(path: str) -> Any:
    """The patterns of one file; None where there is no such file, or none that can be read."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(1_000_000).splitlines()
    except OSError:
        return None
    wanted = [line for line in lines if line.strip() and not line.startswith("#")]
    if not wanted:
        return None
    from pathspec import GitIgnoreSpec

    kept = []
    for line in wanted:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue  # git, too, passes over a pattern that means nothing
        kept.append(line)
    return GitIgnoreSpec.from_lines(kept)


def _top(start: str) -> str | None:
    """The nearest folder at or above `start` that holds `.git`, or the farthest below it that holds a .gitignore."""
    folder, farthest = start, None
    while True:
        if os.path.isfile(os.path.join(folder, NAME)):
            farthest = folder
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return farthest
        folder = parent
