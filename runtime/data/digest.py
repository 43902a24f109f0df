"""The sha256 of a batch: equal for equal values, dtypes and shapes under equal names, wherever the arrays live."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

DEEPEST = 100
"""Levels of a batch: one that holds itself has no end."""


class NotABatch(TypeError):
    """Something in a batch that cannot be compared; says where it stands."""


def batch_digest(batch: Any) -> str:
    """The digest of nested mappings and sequences of arrays, numbers and texts.

    Raises NotABatch, with its place in the batch, for anything else.
    """
    digest = hashlib.sha256()
    for path, leaf in _leaves("", batch):
        array = np.asarray(leaf)
        if array.dtype.hasobject:
            holds = "holds objects" if isinstance(leaf, np.ndarray) else f"is of type {type(leaf).__name__}"
            raise NotABatch(f"{_named(path)} {holds}; arrays, numbers and texts are compared")
        digest.update(f"{path}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return "sha256:" + digest.hexdigest()


def _named(path: str) -> str:
    return f"`{path.removeprefix('/')}` of a batch" if path else "a batch"


def _leaves(path: str, node: Any, level: int = 0) -> Iterator[tuple[str, Any]]:
    if level > DEEPEST:
        raise NotABatch(f"{_named('/'.join(path.split('/')[:4]))} is more than {DEEPEST} levels deep, or holds itself")
    below = _below(node)
    if below is None:
        yield path, node
        return
    for name, each in below:
        yield from _leaves(f"{path}/{name}", each, level + 1)


def _below(node: Any) -> list[tuple[Any, Any]] | None:
    """What a mapping, a sequence or a dataclass holds, by name; None for a leaf."""
    if isinstance(node, Mapping):
        return [(name, node[name]) for name in sorted(node, key=str)]
    if isinstance(node, list | tuple):
        return list(enumerate(node))
    if is_dataclass(node) and not isinstance(node, type):
        return [(field.name, getattr(node, field.name)) for field in fields(node)]
    return None
