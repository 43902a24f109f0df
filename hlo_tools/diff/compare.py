"""Two programs compared in meaning: what changed, what it rests on, and which of it is the cause."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ...contracts.manifest import MeshFact
from ..canonical.canonical import canonical_ledger
from ..collectives import CollectiveLedger, collectives
from ..cost import CostLedger, cost
from ..memory import MemoryLedger
from ..module import HloModule
from ..proto_module import ProtoModule
from . import boundary, collective_changes, host, kernels, memory_changes, operations, repeats, totals, widened
from .causes import led_by, ranked
from .census import Census, census
from .change import Change
from .fingerprint import Fingerprints
from .keys import Keys
from .lines import Lines
from .placement import Placement
from .totals import Figures, Metric

SCHEMA_VERSION = 1
# A peak that is worked out may lie this far from XLA's own.
_ESTIMATED = 0.02
EXACT = ("heap-trace", "buffer-assignment", "compiled-stats")


@dataclass(slots=True)
class Side:
    """One program: what it is called, and its memory where that is known (`no_memory` says why not)."""

    name: str
    module: HloModule
    mesh: MeshFact | None = None
    memory: MemoryLedger | None = None
    no_memory: str | None = None


@dataclass(slots=True)
class Diff:
    """All changes, causes first, largest first among equals. `same`: equal up to names and order.

    `notes` say what the comparison could not see, `unjudged` which word of a threshold it leaves open.
    `placement` says where the change comes from, for two captures.
    """

    a: str
    b: str
    same: bool
    changes: list[Change] = field(default_factory=list)
    metrics: dict[str, Metric] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unjudged: dict[str, str] = field(default_factory=dict)
    placement: Placement | None = None

    @property
    def verdict(self) -> str:
        """`same`, `equivalent` (nothing that matters differs) or `changed`."""
        if self.changes:
            return "changed"
        return "same" if self.same else "equivalent"

    @property
    def roots(self) -> list[Change]:
        return [change for change in self.changes if change.root]

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "a": self.a,
            "b": self.b,
            "verdict": self.verdict,
            "placement": self.placement.as_json() if self.placement else None,
            "changes": [change.as_json() for change in self.changes],
            "metrics": {name: metric.as_json() for name, metric in self.metrics.items()},
            "notes": self.notes,
        }


@dataclass(slots=True)
class _Read:
    """One program with everything that is compared."""

    side: Side
    census: Census
    collectives: CollectiveLedger
    cost: CostLedger
    number: int

    @property
    def figures(self) -> Figures:
        return Figures(self.census, self.collectives, self.cost, self.side.memory)


def compare(a: Side, b: Side, asked: tuple[Side, Side] | None = None) -> Diff:
    """What B does otherwise than A. `asked` are both programs as the partitioner left them: there types are as the code
    says, and what leads there leads here. Raises ContractLintError for a program that cannot be read.
    """
    keys = Keys(mixed=isinstance(a.module, ProtoModule) != isinstance(b.module, ProtoModule))
    mine, theirs = _read(a, keys), _read(b, keys)
    _share_mesh(mine, theirs)
    diff = Diff(a.name, b.name, same=mine.number == theirs.number)
    diff.metrics = totals.metrics(mine.figures, theirs.figures)
    lines = Lines(mine.census, theirs.census)
    found = _memory(a, b, lines, diff)
    if diff.same:
        diff.changes = ranked(found)
        return diff
    before = compare(*asked) if asked is not None else None
    found += _meaning(mine, theirs, keys, lines)
    if widened.by_compiler(mine.census) or widened.by_compiler(theirs.census):
        if before is not None:
            found = widened.as_asked(before.changes, found)
        else:
            diff.unjudged["dtype"] = widened.WHY
            diff.notes.append(widened.NOTE)
    diff.changes = ranked(found)
    if before is not None:
        diff.changes = led_by(before.roots, diff.changes)
    return diff


def _read(side: Side, keys: Keys) -> _Read:
    fingerprints = Fingerprints(side.module, keys)
    number = fingerprints.program()
    ledger = collectives(side.module, side.mesh)
    return _Read(side, census(side.module, keys, fingerprints), ledger, cost(side.module), number)


def _share_mesh(a: _Read, b: _Read) -> None:
    """A program that does not name its axes gets the names of the other one, where both are for as many devices."""
    for one, other in ((a, b), (b, a)):
        mesh = other.collectives.mesh
        if one.collectives.mesh is None and mesh is not None and one.collectives.devices == other.collectives.devices:
            one.collectives = collectives(one.side.module, mesh)


def _memory(a: Side, b: Side, lines: Lines, diff: Diff) -> list[Change]:
    """Changes of memory. Estimates hang on the order in which a text prints: of equal programs they say nothing."""
    if a.memory is None or b.memory is None:
        reasons = dict.fromkeys(side.no_memory for side in (a, b) if side.memory is None and side.no_memory)
        diff.notes += [f"memory is not compared: {reason}" for reason in reasons]
        return []
    estimated = [side for side in (a, b) if side.memory is not None and side.memory.method not in EXACT]
    if estimated:
        if diff.same:
            return []
        diff.notes.append("memory is worked out from the schedule: the text holds no buffer assignment")
        if len(estimated) == 1 and abs(b.memory.peak_bytes - a.memory.peak_bytes) <= _ESTIMATED * a.memory.peak_bytes:
            return []
    return list(memory_changes.changes(a.memory, b.memory, lines))


def _meaning(a: _Read, b: _Read, keys: Keys, lines: Lines) -> list[Change]:
    rows = operations.rows(a.census, b.census, lines)
    named = canonical_ledger(a.collectives), canonical_ledger(b.collectives)
    moved = collective_changes.changes(*named, lines)
    if not moved:
        moved = collective_changes.changes(a.collectives, b.collectives, lines, "collective-as-run")
    return [
        *repeats.layers(a.census, b.census),
        *repeats.loops(a.census, b.census, lines),
        *repeats.remat(a.census, b.census, _recomputed(a.census, b.census, rows)),
        *boundary.changes(a.side.module, b.side.module, keys),
        *host.changes(a.census, b.census, lines),
        *moved,
        *operations.changes(rows, lines),
        *kernels.fusions(a.census, b.census, lines),
        *kernels.layouts(a.census, b.census, lines),
        *totals.changes(a.figures, b.figures, lines),
    ]


def _recomputed(a: Census, b: Census, rows: list[operations.Row]) -> dict[str, tuple[int, int, str | None]]:
    """By scope, the products and the like that are recomputed in A and in B, where these differ; and their line."""
    counts: dict[str, list[int]] = {}
    weights: dict[str, Counter[str | None]] = {}
    for side, made in enumerate((a, b)):
        for found in made.operations.values():
            for place, tally in found.items():
                if place.phase == "recompute" and tally.sample.opcode in operations.COMPUTES:
                    counts.setdefault(place.scope, [0, 0])[side] += tally.count
    for row in rows:
        if row.place.phase == "recompute":
            weights.setdefault(row.place.scope, Counter())[row.place.source] += row.bytes
    return {
        scope: (before, after, weights.get(scope, Counter({None: 1})).most_common(1)[0][0])
        for scope, (before, after) in counts.items()
        if before != after
    }
