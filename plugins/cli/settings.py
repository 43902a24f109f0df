"""`[tool.contract-lint]` of the nearest pyproject.toml."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.suggest import did_you_mean
from ..pipeline.report import FailOn
from .options import FAIL_ON

TABLE = "tool.contract-lint"


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults of the command line; `root` is the folder of the pyproject.toml they come from."""

    root: Path
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: FailOn = "error"
    exclude: tuple[str, ...] = ()

    def with_options(self, select: tuple[str, ...], ignore: tuple[str, ...], fail_on: FailOn | None) -> Settings:
        """The settings with what the command line says: `--select` and `--fail-on` replace, `--ignore` adds."""
        return replace(
            self, select=select or self.select, ignore=(*self.ignore, *ignore), fail_on=fail_on or self.fail_on
        )


KEYS = {"select": list, "ignore": list, "exclude": list, "fail-on": str}


def load_settings(folder: Path) -> Settings:
    """The settings for work in `folder`: the nearest pyproject.toml at or above it, or the defaults.

    Raises ContractLintError with file and line for TOML that does not parse, an unknown key (with the nearest
    known one), or a value of the wrong type.
    """
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        path = parent / "pyproject.toml"
        if os.path.isfile(path):
            return _read(path, parent, Path(os.path.relpath(path, folder)).as_posix())
    return Settings(folder)


def _read(path: Path, root: Path, shown: str) -> Settings:
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ContractLintError(f"cannot be read: {error}", Location(shown)) from error
    except (ValueError, RecursionError) as error:
        # The parser converts numbers of any length and nests on Python's stack.
        raise ContractLintError(f"is not valid TOML: {error}", Location(shown)) from error
    tool = data.get("tool", {})
    table: Any = tool.get("contract-lint", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ContractLintError(f"[{TABLE}] must be a table", _place(shown, text, "contract-lint"))
    values: dict[str, Any] = {}
    for key, value in table.items():
        place = _place(shown, text, key)
        if key not in KEYS:
            raise ContractLintError(f"unknown key `{key}` in [{TABLE}]", place, did_you_mean(key, KEYS))
        values[key.replace("-", "_")] = _checked(key, value, place)
    return Settings(root, **values)


def _checked(key: str, value: Any, place: Location) -> Any:
    if KEYS[key] is list:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ContractLintError(f"`{key}` must be a list of strings", place)
        return tuple(value)
    if value not in FAIL_ON:
        raise ContractLintError(f"`{key}` must be one of {', '.join(FAIL_ON)}, found {value!r}", place)
    return value


def _place(path: str, text: str, key: str) -> Location:
    """The line of `key`, searched for after the table's header; tomllib keeps no positions."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(r"\s*\[\s*tool\s*\.\s*[\"']?contract-lint", line)), 0)
    wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    line = next((n for n in range(start, len(lines)) if wanted.match(lines[n])), start)
    return Location(path, line + 1)
