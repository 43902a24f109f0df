"""What a loader is, in words: a line for each stage of a grain pipeline, from the batch back to the source.

A cursor is taken by any pipeline; these lines say of two of them whether they are the same one, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .steady import steady

_LEFT_OUT = frozenset(
    {"_parent_length", "_default_seed", "_transform", "_transform_name", "_source_name", "_record_metrics", "_batch_fn"}
)
"""What is derived, said twice, or not said by an iterator; `_batch_fn` is another where memory is shared."""
_ENDLESS = 1 << 40
_DEPTH = 64
_ITERATOR = "DatasetIterator"


def described(loader: Any) -> list[str]:
    """The stages of a `grain` Dataset or DataLoader, or of an iterator over one; the class alone of anything else."""
    loader = getattr(loader, "_data_loader", loader)
    if hasattr(loader, "_sampler") and hasattr(loader, "_data_source"):
        operations = [type(each).__name__ + _values(each) for each in getattr(loader, "_operations", ())]
        return [*reversed(operations), _sampler(loader._sampler), _source(loader._data_source)]
    if hasattr(loader, "_parents"):
        return list(_stages(loader, 0))
    return [type(loader).__name__]


def _stages(node: Any, depth: int) -> Iterator[str]:
    name = type(node).__name__.lstrip("_")
    if name.endswith(_ITERATOR):
        name = name.removesuffix(_ITERATOR)
    else:
        name = name.removesuffix("Dataset").removesuffix("Map").removesuffix("Iter")
    source = getattr(node, "_source", None)
    inside = f"({_source(source)})" if source is not None else _values(node)
    # Reading ahead changes when a record is read, not which one comes.
    if name != "Prefetch":
        yield "  " * depth + (name or "Dataset") + inside
    read = getattr(node, "_map_parent", None)  # what an iterator over a MapDataset reads from
    parents = tuple(getattr(node, "_parents", None) or (() if read is None else (read,)))
    for parent in parents if depth < _DEPTH else ():
        yield from _stages(parent, depth + (len(parents) > 1))


def _values(node: Any) -> str:
    """`(batch_size=4, seed=3)`: the numbers, texts and functions that an object holds."""
    said = []
    for name, value in steady(node).items():
        plain = name.lstrip("_").removeprefix("global_")
        if name in _LEFT_OUT or plain.startswith(("original_", "stats", "parents", "get_parent")):
            continue
        if callable(value) and hasattr(value, "__qualname__"):
            said.append(f"{plain}={value.__qualname__}")
        elif isinstance(value, (bool, int, float, str)) and not (isinstance(value, int) and value > _ENDLESS):
            said.append(f"{plain}={value}")
        elif isinstance(value, (tuple, list)) and all(isinstance(each, (int, float, str)) for each in value):
            said.append(f"{plain}={list(value)}")
        elif name == "_selection_map":
            said.append(_values(value)[1:-1])
    return f"({', '.join(filter(None, said))})"


def _sampler(sampler: Any) -> str:
    """A sampler by its own word, where it has one."""
    return repr(sampler) if type(sampler).__repr__ is not object.__repr__ else type(sampler).__name__ + _values(sampler)


def _source(source: Any) -> str:
    """A source by its own word, unless that lists its records or an address; and its length."""
    try:
        length = f"{len(source)} records"
    except TypeError:
        length = "records without number"
    words = repr(source) if type(source).__repr__ not in (object.__repr__, list.__repr__, tuple.__repr__) else ""
    return f"{words if 0 < len(words) <= 200 else type(source).__name__}, {length}"
