"""A program at a glance: its size, what it calls outside, its collectives and its memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..contracts.manifest import MeshFact
from .collectives import CollectiveLedger, collectives
from .memory import MemoryLedger
from .module import HloModule
from .text.attributes import unquote

SCHEMA_VERSION = 1
HOST_OPCODES = frozenset(("infeed", "outfeed"))
# What frames the work and does none itself.
_PLUMBING = frozenset(("parameter", "constant", "tuple", "get-tuple-element", "bitcast"))


@dataclass(frozen=True, slots=True)
class SummaryLedger:
    """Counts are of instructions as they stand, loops not multiplied.

    `opcodes` leave plumbing out (tuples, parameters, constants, bitcasts); `host` counts infeeds, outfeeds and Python
    callbacks; `memory` is None where nothing is known of it; `target` and `effort` are what a capture was compiled for.
    """

    module: str
    partitions: int
    replicas: int
    scheduled: bool
    computations: int
    instructions: int
    opcodes: dict[str, int]
    custom_calls: dict[str, int]
    host: int
    collectives: CollectiveLedger
    memory: MemoryLedger | None
    target: str | None = None
    effort: str | None = None

    def as_json(self) -> dict[str, Any]:
        memory = self.memory
        keys = ("method", "peak_bytes", "need_bytes", "argument_bytes", "temp_bytes", "state_bytes")
        return {
            "schema_version": SCHEMA_VERSION,
            "module": self.module,
            "target": self.target,
            "effort": self.effort,
            "partitions": self.partitions,
            "replicas": self.replicas,
            "scheduled": self.scheduled,
            "computations": self.computations,
            "instructions": self.instructions,
            "opcodes": self.opcodes,
            "custom_calls": self.custom_calls,
            "host": self.host,
            "collectives": [total.as_json() for total in self.collectives.totals()],
            "unknown_loops": self.collectives.unknown_loops,
            "memory": None if memory is None else {key: getattr(memory, key) for key in keys},
        }


def summary(
    module: HloModule,
    mesh: MeshFact | None = None,
    memory: MemoryLedger | None = None,
    target: str | None = None,
    effort: str | None = None,
) -> SummaryLedger:
    """The summary of one module; `target` and `effort` as a capture names them.

    Raises ContractLintError where the collectives cannot be read.
    """
    opcodes: Counter[str] = Counter()
    for computation in module.computations:
        opcodes.update(computation.opcodes())
    targets: Counter[str] = Counter()
    if opcodes["custom-call"]:
        for computation in module.computations:
            if "custom-call" in computation.opcodes():
                targets.update(
                    unquote(made.attributes.get("custom_call_target", '""'))
                    for made in computation
                    if made.opcode == "custom-call"
                )
    callbacks = sum(count for target, count in targets.items() if "callback" in target)
    return SummaryLedger(
        module=module.name,
        partitions=module.num_partitions,
        replicas=module.replica_count,
        scheduled=module.is_scheduled,
        computations=len(module.computations),
        instructions=opcodes.total(),
        opcodes={name: n for name, n in _ranked(opcodes) if name not in _PLUMBING},
        custom_calls=dict(_ranked(targets)),
        host=callbacks + sum(opcodes[name] for name in HOST_OPCODES),
        collectives=collectives(module, mesh, as_printed=True),
        memory=memory,
        target=target,
        effort=effort,
    )


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
