"""One thing that would make the peak smaller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

ActionKind = Literal["donate", "shard", "recompute", "offload", "microbatch", "layout"]


@dataclass(frozen=True, slots=True)
class Action:
    """What to do, and the bytes by which the peak is lower then.

    `what` names the argument, scope or line it is about, `buffers` what it shrinks of the buffers at the peak, and
    `bytes` is what those take now. `frees_bytes` is less than what they shrink by where the peak moves elsewhere.
    """

    kind: ActionKind
    what: str
    text: str
    frees_bytes: int
    bytes: int
    buffers: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "what": self.what,
            "text": self.text,
            "frees_bytes": self.frees_bytes,
            "bytes": self.bytes,
            "buffers": list(self.buffers),
        }
