"""The sha256 of a batch: equal for equal values, dtypes and shapes under equal names, wherever the arrays live."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def batch_digest(batch: Any) -> str:
    """The digest of nested mappings and sequences of arrays, numbers and texts.

    Raises TypeError, with its place in the batch, for anything else.
    """
    digest = hashlib.sha256()
    for path, leaf in _leaves("", batch):
        array = np.asarray(leaf)
        if array.dtype.hasobject:
            raise TypeError(f"{path or 'the batch'} is a {type(leaf).__name__}: arrays, numbers and texts are compared")
        digest.update(f"{path}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return "sha256:" + digest.hexdigest()


def _leaves(path: str, node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, Mapping):
        for name in sorted(node, key=str):
            yield from _leaves(f"{path}/{name}", node[name])
    elif isinstance(node, list | tuple):
        for index, each in enumerate(node):
            yield from _leaves(f"{path}/{index}", each)
    elif hasattr(node, "__dataclass_fields__"):
        for name in node.__dataclass_fields__:
            yield from _leaves(f"{path}/{name}", getattr(node, name))
    else:
        yield path, node
