"""One hot spot, and all of a program: bytes moved now, the least a kernel would move, by source line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..instruction import Instruction

SCHEMA_VERSION = 1
Kind = Literal["attention", "cross-entropy", "softmax", "norm", "gathered-product", "embedding-gradient"]


@dataclass(frozen=True, slots=True)
class HotSpot:
    """What a fused kernel could do in one go. Bytes are per device and step, in device memory, loops multiplied.

    `moved_bytes`: what the instructions `kernels` read and write of the arrays in question. `least_bytes`: each input
    read once and each output written once. `shape` is the array that would not have to exist. `note` says what the
    kernel does instead.
    """

    kind: Kind
    name: str
    computation: str
    shape: str
    count: int
    moved_bytes: int
    least_bytes: int
    kernels: tuple[str, ...]
    source: str | None = None
    scope: str = ""
    note: str = ""

    @classmethod
    def of(
        cls,
        kind: Kind,
        kernel: Instruction,
        array: Instruction,
        kernels: Iterable[Instruction],
        named: Sequence[Instruction],
        count: int,
        moved: int,
        least: int,
        note: str,
    ) -> HotSpot:
        """A hot spot called after `kernel`; `moved` and `least` are bytes of one of `count` executions.

        The scope is that of the first of `named`, the line that of the first of them that has one.
        """
        return cls(
            kind,
            kernel.name,
            kernel.computation.name,
            array.shape.text.partition("{")[0],
            count,
            moved * count,
            least * count,
            tuple(dict.fromkeys(each.name for each in kernels)),
            next((each.source for each in named if each.source), None),
            named[0].op_name,
            note,
        )

    @property
    def saved_bytes(self) -> int:
        return self.moved_bytes - self.least_bytes

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "computation": self.computation,
            "shape": self.shape,
            "count": self.count,
            "moved_bytes": self.moved_bytes,
            "least_bytes": self.least_bytes,
            "saved_bytes": self.saved_bytes,
            "kernels": list(self.kernels),
            "source": self.source,
            "scope": self.scope,
            "note": self.note,
        }


@dataclass(slots=True)
class HotSpots:
    """The hot spots of one program, those that save most first. `hbm_bytes` is what the whole step moves."""

    module: str
    rows: list[HotSpot] = field(default_factory=list)
    hbm_bytes: int = 0
    scheduled: bool = True
    unknown_loops: list[str] = field(default_factory=list)

    @property
    def saved_bytes(self) -> int:
        return sum(row.saved_bytes for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "module": self.module,
            "scheduled": self.scheduled,
            "hbm_bytes": self.hbm_bytes,
            "saved_bytes": self.saved_bytes,
            "hot_spots": [row.as_json() for row in self.rows],
            "unknown_loops": self.unknown_loops,
        }
