"""A loader's cursor, read and put back: of grain Dataset and DataLoader iterators, and of functions that take one."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

LONGEST = 400
"""Characters of what a loader says that are kept."""


class Refused(Exception):
    """The loader did not take a cursor; says why in its own words."""


class NoBatches(Exception):
    """What a loader gave has no batches in it."""


def cursor_of(iterator: Any) -> Any:
    """The state of an iterator as JSON values. Raises TypeError for one that has none."""
    if not hasattr(iterator, "get_state"):
        raise TypeError(f"{type(iterator).__name__} has no get_state(): give its cursor as a JSON value")
    state = iterator.get_state()
    return json.loads(state) if isinstance(state, bytes | str) else json.loads(json.dumps(state))


def opened(entry: Callable[..., Any], args: Mapping[str, Any], cursor: Any) -> tuple[Iterator[Any], Any]:
    """The iterator of a loader, standing where `cursor` says, and the loader itself.

    `entry(**args)` gives something to iterate over whose iterators have `get_state` and `set_state`, as grain's do; or
    it has a parameter `cursor`, and gives an iterator that stands there. Both are its own to change. Raises Refused for
    a cursor that is not taken, NoBatches for what cannot be iterated over.
    """
    if "cursor" in inspect.signature(entry).parameters:
        loader = entry(**copy.deepcopy(dict(args)), cursor=copy.deepcopy(cursor))
        return _batches(loader), loader
    loader = entry(**copy.deepcopy(dict(args)))
    iterator = _batches(loader)
    if not hasattr(iterator, "set_state"):
        raise Refused(f"{type(iterator).__name__} has no set_state(), and the function takes no `cursor`")
    state = json.dumps(cursor).encode() if isinstance(iterator.get_state(), bytes) else cursor
    try:
        iterator.set_state(state)
    except Exception as error:  # whatever a loader raises for a state it does not know
        said = " ".join(str(error).split())[:LONGEST]
        raise Refused(": ".join(filter(None, (type(error).__name__, said)))) from error
    return iterator, loader


def _batches(loader: Any) -> Any:
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        given = "None" if loader is None else f"an object of type {type(loader).__name__}"
        raise NoBatches(f"it gives {given}, which has no batches to iterate over")
    return iter(loader)
