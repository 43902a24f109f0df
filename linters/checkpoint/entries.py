"""The entries of a tree (`_METADATA`) against each other and against what Orbax has a handler for.

An entry has the keys of a leaf twice, as its own name and as a list, and a type: who restores without a template of its
own gets what the type says.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .facts import Fault
from .metadata import quoted

_JAX = "jax.Array"
_SCALAR = "scalar"
_STORED = (_JAX, "np.ndarray", _SCALAR, "string", "placeholder")
"""Types that Orbax registers a handler for."""
_ARRAY, _TEXT = "array", "text"
EMPTY = ("None", "Dict", "List", "Tuple", "NamedTuple")
"""Types of what holds no array."""
_PLAIN = "a restore without a template fails"
_ANY = "Orbax restores nothing of the tree"
_OTHER = "which of both was saved cannot be told"
_LOST = "one of the two values is lost"
_RENAME = "rename one of both leaves and save the step again"
_JOINED = "joined"
_LIST = 1
"""The type of a key that is a place in a list."""


def paths_of(leaves: Sequence[tuple[str, ...]]) -> list[str]:
    """The paths of leaves by their keys. A key may hold a slash: it is quoted where two paths would be one."""
    plain = ["/".join(keys) for keys in leaves]
    counts = Counter(plain)
    return [
        path if counts[path] == 1 else "/".join(json.dumps(key) if "/" in key else key for key in keys)
        for path, keys in zip(plain, leaves, strict=True)
    ]


def keys_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a leaf as text, numbers of a list too. Raises KeyError or TypeError where there are none."""
    return tuple(str(key["key"]) for key in entry["key_metadata"])


def faults_of_entries(file: str, metadata: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong in entries that can be read, one fault for each kind, the first of them by name."""
    found: dict[str, list[tuple[str, str]]] = {}
    seen: dict[tuple[str, ...], str] = {}
    stored: dict[tuple[str, str], tuple[str, ...]] = {}
    types: dict[tuple[str, ...], tuple[int, str]] = {}
    for name, entry in metadata.get("tree_metadata", {}).items():
        keys = keys_of(entry)
        other = seen.setdefault(keys, name)
        if other != name:
            what = f"the entries {quoted(other)} and {quoted(name)} have the same keys"
            found.setdefault("twice", []).append((what, _OTHER))
        elif str(keys) != name:
            what = f"the entry {quoted(name)} has the keys {quoted('/'.join(keys))}"
            found.setdefault("keys", []).append((what, _OTHER))
        store = _store(entry["value_metadata"])
        first = stored.setdefault((store, ".".join(keys)), keys) if store is not None else keys
        if first != keys:
            what = f"{quoted('/'.join(first))} and {quoted('/'.join(keys))} are both stored as {'.'.join(keys)}"
            found.setdefault(_JOINED, []).append((what, _LOST))
        mixed = _mixed(keys, entry["key_metadata"], types)
        if mixed is not None:
            found.setdefault("key types", []).append((mixed, _PLAIN))
        wrong = _type(entry["value_metadata"])
        if wrong is not None:
            kind, what, then = wrong
            found.setdefault(kind, []).append((f"{'/'.join(keys)} {what}", then))
    for kind, wrongs in found.items():
        yield from _faults(file, kind, wrongs)


def faults_of_scalars(
    file: str, metadata: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...] | None]
) -> Iterator[Fault]:
    """What is a number by the type of its entry, and an array by what is stored. `shapes`: by name, as stored."""
    wrongs = [
        f"{'/'.join(keys)} is of the type {quoted(_SCALAR)}, and an array of {list(shape)} is stored"
        for keys, value in _values(metadata)
        if value["value_type"] == _SCALAR and not value["skip_deserialize"] and (shape := shapes.get(".".join(keys)))
    ]
    yield from _faults(file, "scalar", [(what, _PLAIN) for what in wrongs])


def jax_arrays(metadata: Mapping[str, Any]) -> list[str]:
    """The names of the arrays that were on devices when they were saved."""
    return [
        ".".join(keys)
        for keys, value in _values(metadata)
        if value["value_type"] == _JAX and not value["skip_deserialize"]
    ]


def _values(metadata: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The keys of each leaf, and what its entry says of its value."""
    for entry in metadata.get("tree_metadata", {}).values():
        yield keys_of(entry), entry["value_metadata"]


def _faults(file: str, kind: str, wrongs: Sequence[tuple[str, str]]) -> Iterator[Fault]:
    """One fault for all of a kind; each is what is wrong and what comes of it."""
    if wrongs:
        what, then = wrongs[0]
        more = f" (so it is with {len(wrongs) - 1:,} more)" if len(wrongs) > 1 else ""
        yield Fault(file, f"{what}{more}", then=then, kind=kind, help=_RENAME if kind == _JOINED else "")


def _store(value: Mapping[str, Any]) -> str | None:
    """Where the value of a leaf is stored by its name; None for one that is not stored."""
    kind = value["value_type"]
    if value["skip_deserialize"] or kind in EMPTY or kind == "placeholder":
        return None
    return _TEXT if kind == "string" else _ARRAY


def _mixed(
    keys: tuple[str, ...], told: Sequence[Mapping[str, Any]], types: dict[tuple[str, ...], tuple[int, str]]
) -> str | None:
    """Why a leaf has no place in a tree by the types of its keys. `types`: folder -> type of the first key in it."""
    for at, (key, each) in enumerate(zip(keys, told, strict=True)):
        kind = each["key_type"]
        if kind == _LIST and not key.isdecimal():
            return f"{'/'.join(keys)} has the key {quoted(key)} as that of a list, and it is no number"
        first, other = types.setdefault(keys[:at], (kind, "/".join(keys)))
        if first != kind:
            above = "/".join(keys[:at]) or "the tree"
            return f"{above} is a list by one of {other} and {'/'.join(keys)}, and a mapping by the other"
    return None


def _type(value: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """What is wrong with the type of an entry: its kind, how it is told, and what comes of it."""
    kind, skipped = value["value_type"], value["skip_deserialize"]
    if skipped and kind not in EMPTY:
        return "skipped", f"is {quoted(kind)}, and is to be skipped, which only what is empty can be", _ANY
    if not skipped and kind in EMPTY:
        return "empty", f"is {quoted(kind)}, and is not to be skipped as what is empty is", _PLAIN
    if not skipped and kind not in _STORED:
        return "type", f"is of the type {quoted(kind)}; Orbax has handlers for {', '.join(_STORED)}", _PLAIN
    return None
