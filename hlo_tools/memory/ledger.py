"""The memory ledger as data: what a step needs on one device, its peak, and which buffers make the peak."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from .action import Action
from .buffer import Buffer

SCHEMA_VERSION = 1
DEVICE_SPACE = 0
SPACE_NAMES = {0: "device", 1: "vmem", 2: "sync", 4: "smem", 5: "host"}

Method = Literal["heap-trace", "buffer-assignment", "liveness", "compiled-stats"]


@dataclass(frozen=True, slots=True)
class Space:
    """One memory space: 0 is the device's main memory, the others (VMEM, host, ...) never add to it."""

    number: int
    name: str
    argument_bytes: int
    temp_bytes: int
    peak_bytes: int


@dataclass(slots=True)
class MemoryLedger:
    """Bytes on one device, in its main memory.

    `peak_bytes` is what lives for the whole step (arguments, un-aliased outputs, constants) plus the peak of the heap;
    fragmentation is not in it. `need_bytes` is what must fit: arguments + un-aliased outputs + packed temporaries +
    code. `state_bytes` are the arguments that stay from step to step. `method` says where the peak comes from:
    `heap-trace` is exact, `liveness` follows XLA's rules on the printed schedule (`hlo_tools/liveness`), the other two
    count all temporaries as live at once. `actions` would make the peak smaller, the one that frees most first.
    `refused` says that the compiler gave the program up because it does not fit.
    """

    module: str
    method: Method
    peak_bytes: int
    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    temp_bytes: int
    code_bytes: int
    state_bytes: int | None = None
    peak_index: int | None = None
    peak_instruction: str | None = None
    buffers: list[Buffer] = field(default_factory=list)
    timeline: list[tuple[int, int]] = field(default_factory=list)
    spaces: list[Space] = field(default_factory=list)
    actions: tuple[Action, ...] = ()
    refused: bool = False

    @property
    def standing_bytes(self) -> int:
        """What lives for the whole step: arguments, and outputs that alias none of them."""
        return self.argument_bytes + self.output_bytes - self.alias_bytes

    @property
    def need_bytes(self) -> int:
        return self.standing_bytes + self.temp_bytes + self.code_bytes

    @property
    def by_class(self) -> dict[str, int]:
        """Bytes at the peak by class, largest first, without tile padding, which is a class of its own."""
        sums: dict[str, int] = {}
        for buffer in self.buffers:
            padding = buffer.bytes - buffer.unpadded_bytes
            sums[buffer.class_] = sums.get(buffer.class_, 0) + buffer.unpadded_bytes
            if padding:
                sums["padding"] = sums.get("padding", 0) + padding
        return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))

    @property
    def by_scope(self) -> list[tuple[str, int]]:
        return _summed((buffer.scope, buffer.bytes) for buffer in self.buffers)

    @property
    def by_source(self) -> list[tuple[str, int]]:
        """Bytes at the peak by Python line; `` for buffers without one."""
        return _summed((buffer.source or "", buffer.bytes) for buffer in self.buffers)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "module": self.module,
            "refused": self.refused,
            "method": self.method,
            "peak_bytes": self.peak_bytes,
            "argument_bytes": self.argument_bytes,
            "output_bytes": self.output_bytes,
            "alias_bytes": self.alias_bytes,
            "temp_bytes": self.temp_bytes,
            "code_bytes": self.code_bytes,
            "need_bytes": self.need_bytes,
            "state_bytes": self.state_bytes,
            "peak_index": self.peak_index,
            "peak_instruction": self.peak_instruction,
            "by_class": self.by_class,
            "by_scope": [{"scope": scope, "bytes": size} for scope, size in self.by_scope],
            "by_source": [{"source": source or None, "bytes": size} for source, size in self.by_source],
            "buffers": [buffer.as_json() for buffer in self.buffers],
            "timeline": [list(point) for point in self.timeline],
            "spaces": [
                {
                    "space": space.number,
                    "name": space.name,
                    "argument_bytes": space.argument_bytes,
                    "temp_bytes": space.temp_bytes,
                    "peak_bytes": space.peak_bytes,
                }
                for space in self.spaces
            ],
            "actions": [action.as_json() for action in self.actions],
        }


def _summed(rows: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    sums: dict[str, int] = {}
    for key, size in rows:
        sums[key] = sums.get(key, 0) + size
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))
