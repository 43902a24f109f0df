"""Which files of a tree are contracts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .errors import ContractLintError, visible

SUFFIX = ".contract.yaml"
SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})


def find_contracts(paths: Iterable[str | Path]) -> list[Path]:
    """Every `*.contract.yaml` among the files named and below the folders named, each once, in a fixed order.

    Hidden folders, virtual environments and node_modules are skipped; symbolic links are followed, each folder once.
    Other files that are named are ignored, so a hook may pass everything that changed. Raises ContractLintError for a
    path that does not exist.
    """
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        if os.path.isdir(path):
            for file in _below(path):
                found.setdefault(os.path.realpath(file), file)
        elif os.path.exists(path):
            if path.name.endswith(SUFFIX):
                found.setdefault(os.path.realpath(path), path)
        else:
            raise ContractLintError(f"{visible(path.as_posix())} does not exist", help="name files or folders")
    return sorted(found.values(), key=lambda file: file.as_posix())


def _below(folder: Path) -> Iterable[Path]:
    seen: set[str] = set()
    for current, folders, files in os.walk(folder, followlinks=True):
        here = os.path.realpath(current)
        if here in seen:
            folders.clear()
            continue
        seen.add(here)
        folders[:] = sorted(name for name in folders if not _skip(current, name))
        yield from (Path(current, name) for name in sorted(files) if name.endswith(SUFFIX))


def _skip(parent: str, name: str) -> bool:
    return name.startswith(".") or name in SKIPPED or os.path.isfile(os.path.join(parent, name, "pyvenv.cfg"))
