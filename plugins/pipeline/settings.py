"""`[tool.contract-lint]`: the pyproject.toml above a folder, and those above it where they hold this table too."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from .declared import requirements
from .report import FailOn
from .settings_file import PATHS, PER_FILE, TABLE, Document, read_document, table_of

FILE = "pyproject.toml"


@dataclass(frozen=True, slots=True)
class PerFile:
    """Rules that do not count in the files that `pattern` matches, seen from `folder`."""

    folder: str
    pattern: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults of the command line; `root` is the folder of the nearest pyproject.toml they come from.

    `baseline` and `cache_dir` are absolute. `traced`, `module_methods` and `context` are for Python source: functions
    that are traced though nothing shows it, methods of modules that are traced by convention, and what is read to
    understand the files that are checked. `requirements` is what the project declares of each package, `files` are the
    absolute paths of those that hold the settings, the nearest first.
    """

    root: Path
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: FailOn = "error"
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[PerFile, ...] = ()
    preview: bool = False
    certain: bool = False
    baseline: str | None = None
    traced: tuple[str, ...] = ()
    module_methods: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    requirements: tuple[tuple[str, str], ...] = ()
    cache_dir: str | None = None
    files: tuple[str, ...] = ()

    def with_options(
        self,
        select: tuple[str, ...] = (),
        ignore: tuple[str, ...] = (),
        fail_on: FailOn | None = None,
        preview: bool = False,
        certain: bool = False,
        exclude: tuple[str, ...] = (),
    ) -> Settings:
        """The settings with what the command line says: `--select` and `--fail-on` replace, all other lists add."""
        return replace(
            self,
            select=select or self.select,
            ignore=(*self.ignore, *ignore),
            fail_on=fail_on or self.fail_on,
            preview=preview or self.preview,
            certain=certain or self.certain,
            exclude=(*self.exclude, *exclude),
        )


ADDED = frozenset({"ignore", "exclude", PER_FILE, "traced", "module-methods"})
"""Lists to which a nearer file adds; what else it says replaces."""


def load_settings(folder: Path, config: str | None = None) -> Settings:
    """The settings for work in `folder`.

    Each pyproject.toml with the table counts, from the farthest to the nearest, up to one that says `root = true`; or
    the file `config` alone, whose paths are then seen from `folder`. Raises ContractLintError with file and line for
    TOML that does not parse, an unknown key or rule (with the nearest known one), or a value of the wrong type.
    """
    here = folder.resolve()
    above = [os.fspath(parent / FILE) for parent in (here, *here.parents) if os.path.isfile(parent / FILE)]
    nearest = read_document(above[0]) if above else None
    declared = _declared(here, nearest.data if nearest is not None else {}, Path(above[0]).parent if above else here)
    tables = [(here, _named(config))] if config is not None else list(_tables(above, nearest))
    files = (os.path.abspath(config),) if config is not None else tuple(os.fspath(each / FILE) for each, _ in tables)
    root = tables[0][0] if tables else Path(above[0]).parent if above else here
    merged: dict[str, Any] = {}
    for parent, table in reversed(tables):
        for key, value in _placed(table, parent).items():
            merged[key] = merged[key] + value if key in ADDED and key in merged else value
    values = {key.replace("-", "_"): value for key, value in merged.items() if key != "root"}
    return Settings(root, requirements=declared, files=files, **values)


def _declared(here: Path, data: Mapping[str, Any], project: Path) -> tuple[tuple[str, str], ...]:
    """What requirement files at or above `here`, nearer than the project itself, ask for; else what it does."""
    for folder in (here, *here.parents):
        if folder == project:
            break
        if found := requirements({}, folder):
            return found
    return requirements(data, project)


def _tables(above: Sequence[str], nearest: Document | None) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Folder and table of each file that has one, from the nearest up to one that is the root."""
    for file in above:
        table = table_of(nearest if nearest is not None and file == above[0] else read_document(file))
        if table is not None:
            yield Path(file).parent, table
            if table.get("root"):
                return


def _named(config: str) -> dict[str, Any]:
    """The table of a file that is named by itself."""
    document = read_document(config)
    table = table_of(document)
    if table is None:
        raise ContractLintError(f"has no table [{TABLE}]", Location(document.shown))
    return table


def cascade(
    folder: Path, options: Callable[[Settings], Settings], config: str | None = None
) -> Callable[[str], Settings]:
    """What holds for each file: the tables above it (or that of `config`), then `options`, what the command line says.

    Files below `folder` that have no table nearer share its settings; each folder is looked at once.
    """
    if config is not None:
        everywhere = options(load_settings(folder, config))
        return lambda file: everywhere
    known: dict[str, Settings] = {os.fspath(folder.resolve()): options(load_settings(folder))}
    spelled: dict[str, Settings] = {}

    def of(file: str) -> Settings:
        named = os.path.dirname(file)
        found = spelled.get(named)
        if found is None:
            found = spelled[named] = sought(os.path.dirname(os.path.abspath(file)))
        return found

    def sought(inner: str) -> Settings:
        waiting = []
        while inner not in known and not os.path.isfile(os.path.join(inner, FILE)):
            waiting.append(inner)
            parent = os.path.dirname(inner)
            if parent == inner:
                break
            inner = parent
        if inner not in known:
            known[inner] = options(load_settings(Path(inner)))
        for each in waiting:
            known[each] = known[inner]
        return known[inner]

    return of


def _placed(table: Mapping[str, Any], parent: Path) -> dict[str, Any]:
    """The values of one table with what is relative to its folder made absolute."""
    placed = dict(table)
    if PER_FILE in placed:
        listed = placed[PER_FILE].items()
        placed[PER_FILE] = tuple(PerFile(os.fspath(parent), pattern, rules) for pattern, rules in listed)
    for key in placed.keys() & set(PATHS):
        placed[key] = os.path.join(parent, os.path.expanduser(placed[key]))
    if "context" in placed:
        placed["context"] = tuple(os.path.join(parent, each) for each in placed["context"])
    return placed
