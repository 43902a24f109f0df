"""One buffer of the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..buffer_class import BufferClass


@dataclass(frozen=True, slots=True)
class Buffer:
    """One buffer live at the peak; `first` and `last` are schedule indices. The `scope` of an argument is its path."""

    name: str
    bytes: int
    unpadded_bytes: int
    shape: str
    class_: BufferClass
    scope: str
    source: str | None
    first: int
    last: int

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "bytes": self.bytes,
            "unpadded_bytes": self.unpadded_bytes,
            "shape": self.shape,
            "class": self.class_,
            "scope": self.scope,
            "source": self.source,
            "first": self.first,
            "last": self.last,
        }
