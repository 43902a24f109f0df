"""What lies beside the trees of arrays, as two checkpoints have it: JSON key by key, other files by their bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from ...contracts.errors import ContractLintError
from .facts import MARKER, Checkpoint
from .folder import MAX_METADATA, Folder
from .metadata import kind, parse_any, quoted
from .steps import STEP_METADATA, TEMPORARY

_MOST = 200
"""Keys of one file that are told one by one."""
_BLOCK = 1 << 22
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class OtherChange:
    """One file, or one key of a file of JSON (`data/metadata: next_index`), that is another."""

    kind: Literal["removed", "added", "content"]
    path: str
    before: str | None
    after: str | None


def others_of(checkpoint: Checkpoint) -> dict[str, int]:
    """The files of a step that are of no tree: path -> bytes. What only tells of the save itself is none of them."""
    trees = tuple(f"{item.name}/" if item.name else "" for item in checkpoint.items if item.layout is not None)
    return {
        path: size
        for path, size in checkpoint.files.items()
        if not path.startswith(trees)
        and path.rpartition("/")[2] not in (MARKER, STEP_METADATA)
        and TEMPORARY not in path.rpartition("/")[0]
    }


def other_changes(a: Checkpoint, b: Checkpoint, *, values: bool) -> Iterator[OtherChange]:
    """Every change by path; without `values` JSON alone is read: other files may hold arrays. Raises ContractLintError
    for a file that cannot be read."""
    mine, theirs = others_of(a), others_of(b)
    one, other = (Folder(each.folder, each.folder.as_posix()) for each in (a, b))
    for path in sorted({*mine, *theirs}):
        if path not in theirs:
            yield OtherChange("removed", path, f"{mine[path]:,} B", None)
        elif path not in mine:
            yield OtherChange("added", path, None, f"{theirs[path]:,} B")
        else:
            yield from _changed((one, mine[path]), (other, theirs[path]), path, values)


def _changed(before: tuple[Folder, int], after: tuple[Folder, int], path: str, values: bool) -> Iterator[OtherChange]:
    """Changes of one file that both have: its folder and its bytes on each side."""
    one, other = _json(*before, path), _json(*after, path)
    if one is not _NOTHING and other is not _NOTHING:
        changes = _keys(path, one, other)
        yield from islice(changes, _MOST)
        left = sum(1 for _ in changes)
        if left:
            yield OtherChange("content", path, None, f"{left:,} keys more")
    elif values:
        digests = _digest(*before, path), _digest(*after, path)
        if digests[0] != digests[1]:
            told = [f"{size:,} B, sha256 {each[:12]}" for (_, size), each in zip((before, after), digests, strict=True)]
            yield OtherChange("content", path, *told)
    elif before[1] != after[1]:
        yield OtherChange("content", path, f"{before[1]:,} B", f"{after[1]:,} B")


def said_apart(before: str, after: str) -> tuple[str, str]:
    """Two values that differ, each cut to what a line can hold, from where they do so."""
    short = quoted(before), quoted(after)
    if short[0] != short[1]:
        return short
    at = next(
        (at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
        min(len(before), len(after)),
    )
    return f"... {quoted(before[at:])}", f"... {quoted(after[at:])}"


def _digest(folder: Folder, size: int, path: str) -> str:
    digest = hashlib.sha256()
    for start in range(0, size, _BLOCK):
        digest.update(folder.read_range(path, start, _BLOCK))
    return digest.hexdigest()


def _json(folder: Folder, size: int, path: str) -> Any:
    if size > MAX_METADATA:
        return _NOTHING
    try:
        return parse_any(folder, path, folder.read(path))
    except ContractLintError:
        return _NOTHING


def _keys(path: str, before: Any, after: Any) -> Iterator[OtherChange]:
    """Keys whose values are others; how deep they lie is bounded by what was parsed."""
    left = [(f"{path}:", before, after)]
    while left:
        at, one, other = left.pop()
        if one is _NOTHING:
            yield OtherChange("added", at, None, _shown(other))
        elif other is _NOTHING:
            yield OtherChange("removed", at, _shown(one), None)
        elif isinstance(one, dict) and isinstance(other, dict):
            keys = sorted({*one, *other}, reverse=True)
            left += [(_below(at, key), one.get(key, _NOTHING), other.get(key, _NOTHING)) for key in keys]
        elif isinstance(one, list) and isinstance(other, list):
            longest = range(max(len(one), len(other)))[::-1]
            left += [(_below(at, str(place)), _item(one, place), _item(other, place)) for place in longest]
        elif isinstance(one, str) and isinstance(other, str):
            if one != other:
                yield OtherChange("content", at, *said_apart(one, other))
        elif isinstance(one, (dict, list)) or isinstance(other, (dict, list)) or json.dumps(one) != json.dumps(other):
            yield OtherChange("content", at, _shown(one), _shown(other))


def _below(at: str, key: str) -> str:
    return f"{at} {key}" if at.endswith(":") else f"{at}/{key}"


def _item(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else _NOTHING


def _shown(value: Any) -> str:
    return kind(value) if isinstance(value, (dict, list)) else quoted(value)
