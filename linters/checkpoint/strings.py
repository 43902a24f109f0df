"""The texts of a tree: one JSON file beside its arrays, in which Orbax looks up each text by the name of its leaf.

A name is looked up as a pointer into the JSON (https://www.rfc-editor.org/rfc/rfc6901), so one that holds a slash lies
in an object of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...contracts.errors import ContractLintError
from ..cut import in_a_line
from .facts import Fault, Hole
from .folder import Folder
from .metadata import kind, parse

STRINGS = "_strings.json"
_FAILS = "a restore of the texts of the tree fails"
_OTHER = "another text is restored"
_SOME = 3
"""Names that a message has."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Path of a leaf -> its text, for those that can be told; and what is wrong with the rest."""

    found: dict[str, str] = field(default_factory=dict)
    holes: list[Hole] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def texts_of(folder: Folder, start: str, files: Mapping[str, int], leaves: Mapping[str, str]) -> Texts:
    """The texts of a tree. `leaves`: path -> name of each leaf that is one."""
    path, told = f"{start}{STRINGS}", Texts()
    if not leaves:
        return told
    if path not in files:
        told.holes.extend(Hole("absent", leaf, f"{STRINGS} is not there", path) for leaf in leaves)
        return told
    try:
        saved = parse(folder, path, folder.read(path))
    except ContractLintError as error:
        place = str(error.location).removeprefix(f"{folder.shown}/{path}").lstrip(":")
        told.faults.append(Fault(path, error.message, place, then=_FAILS))
        return told
    for leaf, name in leaves.items():
        value = _at(saved, name)
        if isinstance(value, str):
            told.found[leaf] = value
        elif value is _NOTHING:
            told.holes.append(Hole("absent", leaf, f"{STRINGS} has no text for it", path))
        else:
            told.faults.append(Fault(path, f"{leaf} is {kind(value)}, not text", then=_OTHER, kind=leaf))
    more = sorted({*_names(saved)} - {*leaves.values()})
    if more:
        what = f"has texts that the tree does not name: {in_a_line(more, _SOME)}"
        told.faults.append(Fault(path, what, severity="info", then="they are never restored", kind="more"))
    return told


_NOTHING = object()


def _at(saved: Any, name: str) -> Any:
    """The value that a name points to."""
    for part in name.split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(saved, dict) or key not in saved:
            return _NOTHING
        saved = saved[key]
    return saved


def _names(saved: Mapping[str, Any]) -> Iterator[str]:
    """The names of all that is no object."""
    left = [("", saved)]
    while left:
        above, value = left.pop()
        for key, each in value.items():
            name = above + key.replace("~", "~0").replace("/", "~1")
            if isinstance(each, dict):
                left.append((f"{name}/", each))
            else:
                yield name
