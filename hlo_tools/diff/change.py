"""One change between two programs, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "layers",
    "loop",
    "argument",
    "result",
    "donation",
    "host",
    "remat",
    "dtype",
    "collective",
    "collective-as-run",
    "operation",
    "copy",
    "transpose",
    "convert",
    "layout",
    "fusion",
    "memory",
    "flops",
    "traffic",
    "ring",
    "peak",
]
Number = int | float | str | None

# What makes other things change, before what follows from it. `dtype`, `collective` and `operation` may each be the
# cause of the other: among them the larger one leads.
RANK: dict[str, int] = {
    "layers": 0,
    "loop": 1,
    "donation": 2,
    "host": 2,
    "remat": 3,
    "argument": 4,
    "dtype": 5,
    "collective": 5,
    "operation": 5,
    "result": 6,
    "peak": 7,
    "ring": 7,
    "flops": 7,
    "traffic": 7,
    "memory": 8,
    "collective-as-run": 9,
    "transpose": 9,
    "copy": 9,
    "convert": 9,
    "fusion": 10,
    "layout": 10,
}


@dataclass(slots=True, kw_only=True)
class Change:
    """What changed: `before` and `after` in `unit` a step and device, each with the line responsible on its side.

    `weight` orders changes of one kind: the bytes they are about. `root` is False for what follows from another change;
    `minor` ones stand last, arithmetic that rides along in kernels. `adds`: B has what A has not, though neither is 0.
    `arithmetic`: elementwise work or sums are among the operations that differ.
    `details` are lines for people: the buffers, collectives or operations it is made of. `subject` is `what` without
    the figures, where it has any: for tables that have columns for them.
    """

    kind: Kind
    what: str
    subject: str = ""
    before: Number = None
    after: Number = None
    unit: str = ""
    source_a: str | None = None
    source_b: str | None = None
    scope: str = ""
    phase: str = ""
    weight: int = 0
    root: bool = True
    minor: bool = False
    adds: bool = False
    arithmetic: bool = False
    follows: str | None = None
    details: list[str] = field(default_factory=list)

    @property
    def sides(self) -> tuple[Number, Number]:
        """`before` and `after`."""
        return self.before, self.after

    @property
    def delta(self) -> int | float | None:
        """`after - before`, a missing side taken as 0; None where they are words."""
        if isinstance(self.before, str) or isinstance(self.after, str):
            return None
        if self.before is None and self.after is None:
            return None
        return (self.after or 0) - (self.before or 0)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "delta": self.delta,
            "unit": self.unit,
            "source_a": self.source_a,
            "source_b": self.source_b,
            "scope": self.scope,
            "phase": self.phase or None,
            "root": self.root,
            "follows": self.follows,
            "details": self.details,
        }


def shown(source: str | None, scope: str) -> str:
    """Where something is, in a sentence: ` at train.py:18 (mlp)`; empty where neither is known."""
    if source and scope:
        return f" at {source} ({scope})"
    if source or scope:
        return f" at {source}" if source else f" in {scope}"
    return ""
