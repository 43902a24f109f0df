"""Which folders a contract must name so that its entry can be imported from wherever it is verified."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_OWN = __package__.partition(".")[0] if __package__ else ""


def module_path(entry: str, out: Path, given: Sequence[str], here: Path) -> list[Path]:
    """Folders for `step.<name>.path` of the contract `out`: those that were given, else the working folder `here` where
    the entry's module lies there and not beside the contract, whose own folder is searched without being named."""
    if given:
        return [here / each for each in given]
    top = entry.partition(":")[0].partition(".")[0]
    beside = out.resolve().parent
    if top == _OWN or beside == here.resolve() or _holds(beside, top):
        return []
    return [here] if _holds(here, top) else []


def relative(folders: Sequence[Path], out: Path) -> list[str]:
    """The folders as the contract names them: relative to its own, links followed as they are when it is read."""
    return [Path(os.path.relpath(each.resolve(), out.resolve().parent)).as_posix() for each in folders]


def _holds(folder: Path, module: str) -> bool:
    """Whether a module or package of this name lies in a folder."""
    return bool(module) and (
        (folder / f"{module}.py").is_file() or (folder / module).is_dir() or any(folder.glob(f"{module}.*.so"))
    )
