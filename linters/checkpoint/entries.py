"""The entries of a tree (`_METADATA`) against each other and against what Orbax has a handler for.

An entry has the keys of a leaf twice, as its own name and as a list, and a type: who restores without a template of its
own gets what the type says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .facts import Fault
from .metadata import quoted

_JAX = "jax.Array"
_STORED = (_JAX, "np.ndarray", "scalar", "string", "placeholder")
"""Types that Orbax registers a handler for."""
EMPTY = ("None", "Dict", "List", "Tuple", "NamedTuple")
"""Types of what holds no array."""
_PLAIN = "a restore without a template fails"
_ANY = "Orbax restores nothing of the tree"
_OTHER = "which of both was saved cannot be told"


def keys_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a leaf as text, numbers of a list too. Raises KeyError or TypeError where there are none."""
    return tuple(str(key["key"]) for key in entry["key_metadata"])


def faults_of_entries(file: str, metadata: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong in entries that can be read, one fault for each kind, the first of them by name."""
    found: dict[str, list[tuple[str, str]]] = {}
    seen: dict[tuple[str, ...], str] = {}
    for name, entry in metadata.get("tree_metadata", {}).items():
        keys = keys_of(entry)
        other = seen.setdefault(keys, name)
        if other != name:
            what = f"the entries {quoted(other)} and {quoted(name)} have the same keys"
            found.setdefault("twice", []).append((what, _OTHER))
        elif str(keys) != name:
            what = f"the entry {quoted(name)} has the keys {quoted('/'.join(keys))}"
            found.setdefault("keys", []).append((what, _OTHER))
        wrong = _type(entry["value_metadata"])
        if wrong is not None:
            kind, what, then = wrong
            found.setdefault(kind, []).append((f"{'/'.join(keys)} {what}", then))
    for kind, wrongs in found.items():
        what, then = wrongs[0]
        more = f" (so it is with {len(wrongs) - 1:,} more)" if len(wrongs) > 1 else ""
        yield Fault(file, f"{what}{more}", then=then, kind=kind)


def jax_arrays(metadata: Mapping[str, Any]) -> list[str]:
    """The names of the arrays that were on devices when they were saved."""
    entries = metadata.get("tree_metadata", {}).values()
    return [
        ".".join(keys_of(entry))
        for entry in entries
        if entry["value_metadata"]["value_type"] == _JAX and not entry["value_metadata"]["skip_deserialize"]
    ]


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
