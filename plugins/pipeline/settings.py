"""`[tool.contract-lint]`: the pyproject.toml above a folder, and those above it where they hold this table too."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from .report import FailOn

TABLE = "tool.contract-lint"
FILE = "pyproject.toml"
FAIL_ON: tuple[str, ...] = get_args(FailOn)


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
    understand the files that are checked. `requirements` is what the project declares of each package.
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

    def with_options(
        self,
        select: tuple[str, ...] = (),
        ignore: tuple[str, ...] = (),
        fail_on: FailOn | None = None,
        preview: bool = False,
        certain: bool = False,
    ) -> Settings:
        """The settings with what the command line says: `--select` and `--fail-on` replace, `--ignore` adds."""
        return replace(
            self,
            select=select or self.select,
            ignore=(*self.ignore, *ignore),
            fail_on=fail_on or self.fail_on,
            preview=preview or self.preview,
            certain=certain or self.certain,
        )


LISTS = ("select", "ignore", "exclude", "traced", "module-methods", "context")
FLAGS = ("root", "preview", "certain")
PATHS = ("baseline", "cache-dir")
KEYS = (*LISTS, "fail-on", "per-file-ignores", *PATHS, *FLAGS)
ADDED = frozenset({"ignore", "exclude", "per-file-ignores", "traced", "module-methods"})
"""Lists to which a nearer file adds; what else it says replaces."""


def load_settings(folder: Path) -> Settings:
    """The settings for work in `folder`.

    Each pyproject.toml with the table counts, from the farthest to the nearest, up to one that says `root = true`.
    Raises ContractLintError with file and line for TOML that does not parse, an unknown key (with the nearest known
    one), or a value of the wrong type.
    """
    here = folder.resolve()
    tables: list[tuple[Path, dict[str, Any]]] = []
    nearest: tuple[Path, dict[str, Any]] | None = None
    for parent in (here, *here.parents):
        path = parent / FILE
        if not os.path.isfile(path):
            continue
        shown = Path(os.path.relpath(path)).as_posix()
        data, table = _read(path, shown)
        nearest = nearest or (parent, data)
        if table is not None:
            tables.append((parent, table))
            if table.get("root"):
                break
    if nearest is None:
        return Settings(here, requirements=_requirements({}, here))
    root = tables[0][0] if tables else nearest[0]
    merged: dict[str, Any] = {}
    for parent, table in reversed(tables):
        for key, value in _placed(table, parent).items():
            merged[key] = merged[key] + value if key in ADDED and key in merged else value
    values = {key.replace("-", "_"): value for key, value in merged.items() if key != "root"}
    return Settings(root, requirements=_requirements(nearest[1], nearest[0]), **values)


def cascade(folder: Path, options: Callable[[Settings], Settings]) -> Callable[[str], Settings]:
    """What holds for each file: the tables above it, then `options`, what the command line says.

    Files below `folder` that have no table nearer share its settings; each folder is looked at once.
    """
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
    if "per-file-ignores" in placed:
        placed["per-file-ignores"] = tuple(
            PerFile(os.fspath(parent), pattern, rules) for pattern, rules in placed["per-file-ignores"].items()
        )
    for key in placed.keys() & set(PATHS):
        placed[key] = os.path.join(parent, os.path.expanduser(placed[key]))
    if "context" in placed:
        placed["context"] = tuple(os.path.join(parent, each) for each in placed["context"])
    return placed


def _read(path: Path, shown: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """All of a file, and its table with every value checked; None where it has none."""
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ContractLintError(f"cannot be read: {error}", Location(shown)) from error
    except (ValueError, RecursionError) as error:
        # The parser converts numbers of any length and nests on Python's stack.
        raise ContractLintError(f"is not valid TOML: {error}", Location(shown)) from error
    tool = data.get("tool", {})
    table: Any = tool.get("contract-lint") if isinstance(tool, dict) else None
    if table is None:
        return data, None
    if not isinstance(table, dict):
        raise ContractLintError(f"[{TABLE}] must be a table", _place(shown, text, "contract-lint"))
    values: dict[str, Any] = {}
    for key, value in table.items():
        place = _place(shown, text, key)
        if key not in KEYS:
            from ...contracts.suggest import did_you_mean

            raise ContractLintError(f"unknown key `{key}` in [{TABLE}]", place, did_you_mean(key, KEYS))
        values[key] = _checked(key, value, place)
    return data, values


def _checked(key: str, value: Any, place: Location) -> Any:
    if key in LISTS:
        if not _strings(value):
            raise ContractLintError(f"`{key}` must be a list of strings", place)
        return tuple(value)
    if key in FLAGS:
        if not isinstance(value, bool):
            raise ContractLintError(f"`{key}` must be true or false", place)
        return value
    if key == "per-file-ignores":
        if not isinstance(value, dict) or not all(_strings(rules) for rules in value.values()):
            raise ContractLintError(f"`{key}` must be a table of lists of rules, by pattern", place)
        return {pattern: tuple(rules) for pattern, rules in value.items()}
    if key in PATHS:
        if not isinstance(value, str) or not value:
            raise ContractLintError(f"`{key}` must be the path of a {'file' if key == 'baseline' else 'folder'}", place)
        return value
    if value not in FAIL_ON:
        raise ContractLintError(f"`{key}` must be one of {', '.join(FAIL_ON)}, found {value!r}", place)
    return value


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_NAME = re.compile(r"\s*([A-Za-z0-9][-\w.]*)\s*(?:\[[^\]]*\])?\s*([^;]*)")


def _requirements(data: Mapping[str, Any], folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and version specifier of all that `[project]` requires, optional groups and Python itself included.

    What it does not name may stand in a `requirements*.txt` beside it.
    """
    project = data.get("project")
    project = project if isinstance(project, dict) else {}
    listed: list[Any] = list(_sequence(project.get("dependencies")))
    optional = project.get("optional-dependencies")
    for group in optional.values() if isinstance(optional, dict) else ():
        listed += _sequence(group)
    listed += _lines_of_requirements(folder)
    found: dict[str, str] = {}
    for entry in listed:
        match = _NAME.match(entry) if isinstance(entry, str) else None
        if match is not None:
            name = re.sub(r"[-_.]+", "-", match[1]).lower()
            found.setdefault(name, match[2].strip().strip("()"))
    python = project.get("requires-python")
    if isinstance(python, str):
        found["python"] = python
    return tuple(sorted(found.items()))


def _lines_of_requirements(folder: Path) -> list[str]:
    """The lines of the requirement files of a folder, comments and options of pip left out."""
    lines: list[str] = []
    for path in sorted(folder.glob("requirements*.txt")):
        with suppress(OSError, UnicodeDecodeError):
            lines += path.read_text(encoding="utf-8").splitlines()
    return [line.split(" #")[0] for line in lines if not line.lstrip().startswith(("#", "-"))]


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _place(path: str, text: str, key: str) -> Location:
    """The line of `key`, searched for after the table's header; tomllib keeps no positions."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(r"\s*\[\s*tool\s*\.\s*[\"']?contract-lint", line)), 0)
    wanted = re.compile(rf"\s*(?:[\"']?{re.escape(key)}[\"']?\s*=|\[.*[\"'.]{re.escape(key)}[\"']?\s*\])")
    line = next((n for n in range(start, len(lines)) if wanted.match(lines[n])), start)
    return Location(path, line + 1)
