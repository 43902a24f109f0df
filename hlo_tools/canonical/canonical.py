"""The canonical collective ledger: one row for each array that is really communicated, spelled by what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...contracts.manifest import MeshFact
from ..collectives import Collective, CollectiveLedger, collectives
from ..flow import Flow
from ..module import HloModule
from .aligned import without_alignment
from .between_slices import as_collective
from .combined import parts_of
from .known import is_known
from .only_sliced import as_reduce_scatter
from .windowed import folded


def canonical(module: HloModule, mesh: MeshFact | None = None) -> CollectiveLedger:
    """The collectives of a module without the accidents of how a compiler spells them.

    Combined collectives are split; collectives among one device, never executed or of what every device knows are left
    out; a transfer between slices is named by what it does, an all-reduce of which every device uses only its slice is
    a reduce-scatter, and the permutes of a windowed einsum are the gather or scatter they make up, as is the one that
    aligns a scatter's shards. Raises ContractLintError for what cannot be read.
    """
    return canonical_ledger(collectives(module, mesh))


def canonical_ledger(ledger: CollectiveLedger) -> CollectiveLedger:
    """The same for a ledger that was made before."""
    return without_alignment(folded(replace(ledger, rows=list(_rows(ledger.rows)))))


def _rows(rows: list[Collective]) -> Iterator[Collective]:
    module = next((row.instruction.computation.module for row in rows if row.instruction is not None), HloModule(""))
    flow = Flow(module)
    for row in rows:
        if row.count == 0 or row.group_size == 1 or is_known(row):
            continue
        for part in parts_of(as_collective(row)):
            yield as_reduce_scatter(part, flow)
