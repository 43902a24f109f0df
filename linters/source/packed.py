"""What a summary says, kept small: few facts at hand, the rest as compressed JSON that is opened when it is asked for.

A project of thousands of files is held in memory as bytes; only what was opened last stays open, in all summaries
together. Whoever keeps a part of an opened summary keeps it alive: ids are kept instead, and looked up again.
"""

from __future__ import annotations

import json
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

SMALL = ("package", "x64", "axes", "distributed", "outward")
"""Keys of what is asked of all files at once."""
ROOM = 3 << 20
"""Bytes, compressed, of what stays open: that of a thousand files. Open they take some thirty times as much."""


class Packed(dict[str, Any]):
    """The data of a summary. As a dictionary it holds `small`; every other key is found in what is packed."""

    __slots__ = ("_opened", "_packed")

    def __init__(self, small: Mapping[str, Any], packed: bytes | Callable[[], bytes]) -> None:
        """`packed` may be what reads it, where it is not in memory."""
        super().__init__(small)
        self._packed = packed
        self._opened: dict[str, Any] | None = None

    @property
    def packed(self) -> bytes:
        return self._packed if isinstance(self._packed, bytes) else self._packed()

    @classmethod
    def of(cls, data: dict[str, Any]) -> Packed:
        """The same data, packed."""
        rest = {key: value for key, value in data.items() if key not in SMALL}
        packed = zlib.compress(json.dumps(rest, separators=(",", ":")).encode(), 1)
        return cls({key: data[key] for key in SMALL if key in data}, packed)

    def __missing__(self, key: str) -> Any:
        opened = self._opened
        if opened is None:
            packed = self.packed
            opened = self._opened = json.loads(zlib.decompress(packed))
            _OPEN.keep(self, len(packed))
        return opened[key]

    def whole(self) -> dict[str, Any]:
        """All of it, as it was given."""
        self["functions"]  # opens it
        assert self._opened is not None
        return {**self._opened, **self}

    def close(self) -> None:
        self._opened = None


class _Open:
    """What is open: the longest open is closed when there is no room left."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Packed, int]] = deque()
        self._taken = 0

    def keep(self, packed: Packed, size: int) -> None:
        self._waiting.append((packed, size))
        self._taken += size
        while self._taken > ROOM and len(self._waiting) > 1:
            first, freed = self._waiting.popleft()
            self._taken -= freed
            first.close()


_OPEN = _Open()
