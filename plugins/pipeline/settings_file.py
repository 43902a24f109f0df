"""One file with a table `[tool.contract-lint]`: read, each value checked, and where each of them is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from .report import FailOn

TABLE = "tool.contract-lint"
FAIL_ON: tuple[str, ...] = get_args(FailOn)
LISTS = ("select", "ignore", "exclude", "traced", "module-methods", "context")
FLAGS = ("root", "preview", "certain")
PATHS = ("baseline", "cache-dir")
PER_FILE = "per-file-ignores"
KEYS = (*LISTS, "fail-on", PER_FILE, *PATHS, *FLAGS)
RULES = ("select", "ignore")
"""Lists of rules, as the lists in `per-file-ignores` are."""


@dataclass(frozen=True, slots=True)
class Document:
    """A TOML file: its path as it is shown, its text, and the data in it."""

    shown: str
    text: str
    data: dict[str, Any]


def read_document(path: str | Path) -> Document:
    """The file. Raises ContractLintError where it cannot be read or is no TOML."""
    import tomllib

    shown = Path(os.path.relpath(path)).as_posix()
    try:
        text = Path(path).read_text(encoding="utf-8")
        return Document(shown, text, tomllib.loads(text))
    except (OSError, UnicodeDecodeError) as error:
        raise ContractLintError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", Location(shown)
        ) from error
    except (ValueError, RecursionError) as error:
        # The parser converts numbers of any length and nests on Python's stack.
        raise ContractLintError(f"is not valid TOML: {error}", Location(shown)) from error


def table_of(document: Document) -> dict[str, Any] | None:
    """The table with every value checked; None where there is none.

    Raises ContractLintError, with its line, for an unknown key or rule and for a value of the wrong type.
    """
    tool = document.data.get("tool", {})
    table: Any = tool.get("contract-lint") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ContractLintError(f"[{TABLE}] must be a table", _place(document, "contract-lint"))
    values: dict[str, Any] = {}
    for key, value in table.items():
        place = _place(document, key)
        if key not in KEYS:
            from ...contracts.suggest import did_you_mean

            raise ContractLintError(f"unknown key `{key}` in [{TABLE}]", place, did_you_mean(key, KEYS))
        values[key] = _checked(key, value, place)
        for rule in _rules_in(key, values[key]):
            from .selection import require_known

            require_known([rule], _place(document, key, rule))
    return values


def written_at(files: Iterable[str], key: str, value: str) -> Location | None:
    """Where the first of these files that has `value` in its list `key` has it; None where none does."""
    for file in files:
        document = read_document(file)
        table = table_of(document)
        if table is not None and value in table.get(key, ()):
            return _place(document, key, value)
    return None


def _rules_in(key: str, value: Any) -> Iterable[str]:
    """The rules that a value names."""
    if key == PER_FILE:
        return [rule for listed in value.values() for rule in listed]
    return value if key in RULES else ()


def _checked(key: str, value: Any, place: Location) -> Any:
    if key in LISTS:
        if not _strings(value):
            raise ContractLintError(f"`{key}` must be a list of strings", place)
        return tuple(value)
    if key in FLAGS:
        if not isinstance(value, bool):
            raise ContractLintError(f"`{key}` must be true or false", place)
        return value
    if key == PER_FILE:
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


def _place(document: Document, key: str, value: str | None = None) -> Location:
    """The line of `key`, or of the string `value` in what it holds, searched for after the table's header.

    tomllib keeps no positions. What is spelled with escapes is found at its key.
    """
    lines = document.text.splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(r"\s*\[\s*tool\s*\.\s*[\"']?contract-lint", line)), 0)
    wanted = re.compile(rf"\s*(?:[\"']?{re.escape(key)}[\"']?\s*=|\[.*[\"'.]{re.escape(key)}[\"']?\s*\])")
    line = next((n for n in range(start, len(lines)) if wanted.match(lines[n])), start)
    if value is not None:
        quoted = (f'"{value}"', f"'{value}'")
        line = next((n for n in range(line, len(lines)) if any(each in lines[n] for each in quoted)), line)
    return Location(document.shown, line + 1)
