"""Which of the files that git does not know a run wrote, and so are no source of it: checkpoints, observations, records
and their index. Code and contracts among them are source still."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from ....contracts.find import SUFFIX as CONTRACT
from ....contracts.observations import CONFIG, METRICS, numbered
from ....contracts.record import digest_in
from ....linters.checkpoint.steps import ORBAX, is_temporary
from ....linters.source.files import SUFFIXES
from .index import is_index

_KEYS = {"schema", "config", "contract", "versions"}
"""What the configuration says that a run leaves with its observations."""
_MOST = 1 << 20
_RUN = (*SUFFIXES, CONTRACT)


def without_outputs(root: Path, paths: Iterable[str], results: Iterable[Path] = ()) -> list[str]:
    """The files below `root` that no run wrote. `results`: files and folders that a record binds as such."""
    paths = list(paths)
    folders: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        above, _, name = path.rpartition("/")
        folders[above].add(name)
    written = {each.relative_to(root).as_posix() for each in results if each.is_relative_to(root)}
    written |= {folder for folder, names in folders.items() if folder and not ORBAX.isdisjoint(names)}
    seen = {folder for folder, names in folders.items() if METRICS in names and _has_observations(root / folder, names)}
    return [path for path in paths if path.endswith(_RUN) or not _is_output(root, path, written, seen)]


def _is_output(root: Path, path: str, written: set[str], seen: set[str]) -> bool:
    above, _, name = path.rpartition("/")
    return (
        path in written
        or any(folder in written or is_temporary(folder.rpartition("/")[2]) for folder in _above(path))
        or (above in seen and (name in (CONFIG, METRICS) or numbered(name) is not None))
        or digest_in(name) is not None
        or is_index(root / path)
    )


def _above(path: str) -> Iterable[str]:
    """Every folder that a path lies in, but not the top."""
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _has_observations(folder: Path, names: Iterable[str]) -> bool:
    """Whether a run left its observations in a folder."""
    config = folder / CONFIG
    try:
        if CONFIG not in names or config.is_symlink() or config.stat().st_size > _MOST:
            return False
        said = json.loads(config.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(said, Mapping) and said.keys() >= _KEYS
