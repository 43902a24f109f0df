"""Paths as a code host counts them: from the root of the repository, wherever the command was run."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath


def in_repository(path: str, here: Path | None = None) -> str:
    """`path`, printed relative to `here` (default: the working folder), relative to the root of the git work tree.

    Unchanged outside of one, at its root, for absolute paths, and for those that lead out of it. A path that is none
    of a file below `here` but of one below the root is meant from the root already.
    """
    folder = (here or Path.cwd()).resolve()
    root = next((each for each in (folder, *folder.parents) if os.path.exists(each / ".git")), folder)
    below = folder.relative_to(root).as_posix()
    if below == "." or not path or path.startswith("/"):
        return path
    if not os.path.exists(folder / path) and os.path.exists(root / path):
        return path
    joined = PurePosixPath(os.path.normpath(f"{below}/{path}").replace(os.sep, "/"))
    return path if joined.parts[:1] == ("..",) else joined.as_posix()
