"""JSON that came with a checkpoint: read in bounds, and refused with its place where it is not what it should be."""

from __future__ import annotations

import json
from math import prod
from typing import Any, NoReturn

from ...contracts.json_once import once
from .folder import Folder

_MOST_DIMENSIONS = 64


def parse(folder: Folder, path: str, text: bytes) -> dict[str, Any]:
    """The object that a file of metadata holds. Raises ContractLintError, with line and column, for anything else."""
    value = parse_any(folder, path, text)
    if not isinstance(value, dict):
        wrong(folder, path, f"is {kind(value)}, not an object")
    return value


def parse_any(folder: Folder, path: str, text: bytes) -> Any:
    """The value that a file of JSON holds. Raises ContractLintError, with line and column, for what is none."""
    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise folder.refused(f"{path}:{error.lineno}:{error.colno}", f"is no JSON: {error.msg}", AGAIN) from error
    except UnicodeDecodeError as error:
        raise folder.refused(path, f"is no JSON: byte {error.start} is not {error.encoding}", AGAIN) from error
    except (ValueError, RecursionError) as error:
        said = "is nested too deeply" if isinstance(error, RecursionError) else f"is no JSON: {error}"
        raise folder.refused(path, said, AGAIN) from error


def wrong(folder: Folder, path: str, message: str) -> NoReturn:
    """Raises the error on metadata that cannot be understood."""
    raise folder.refused(path, message, AGAIN)


def sizes(folder: Folder, path: str, name: str, value: Any) -> tuple[int, ...]:
    """A list of sizes: whole numbers of at least 0."""
    if not isinstance(value, list) or not all(type(size) is int and 0 <= size < 1 << 63 for size in value):
        wrong(folder, path, f"`{name}` is {quoted(value)}, not a list of sizes")
    if len(value) > _MOST_DIMENSIONS or prod(value) >= 1 << 63:
        wrong(folder, path, f"`{name}` is {quoted(value)}: no array is that large")
    return tuple(value)


def kind(value: Any) -> str:
    """What JSON calls a value."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def quoted(value: Any) -> str:
    """A value, cut to what a line can hold."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


AGAIN = "save the step again; the file is damaged or of a version that is not known"
