"""A sum of arrays laid end to end is the sum of each: one row for each of them.

    all-reduce(concatenate(bitcast(a), bitcast(b), ...))

CUDA's `all-reduce-contiguous` writes a combined all-reduce so, because one buffer is quicker to send than several. The
rows keep the name of the instruction, with `.part.k`, as those of a tuple do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..collectives import Collective, CollectiveLedger
from ..instruction import Instruction
from ..transfers import Part
from .combined import parts_of
from .fused_values import made_by


def separated(ledger: CollectiveLedger) -> CollectiveLedger:
    """The ledger with every sum of a concatenation taken apart."""
    return replace(ledger, rows=[part for row in ledger.rows for part in _parts(row)])


def _parts(row: Collective) -> Iterator[Collective]:
    pieces, fusions = _pieces(row)
    if len(pieces) < 2:
        yield row
        return
    whole = row.parts[0]
    parts = tuple(
        Part(
            piece.shape.elements,
            whole.dtype,
            whole.operand_bytes * piece.shape.elements // whole.elements,
            whole.result_bytes * piece.shape.elements // whole.elements,
        )
        for piece in pieces
    )
    for piece, part in zip(pieces, parts_of(replace(row, parts=parts)), strict=True):
        yield replace(part, packed=(piece, fusions))


def _pieces(row: Collective) -> tuple[tuple[Instruction, ...], tuple[Instruction, ...]]:
    """What the operand of a sum is laid together from, and the fusions around; none where it is anything else."""
    if row.kind != "all-reduce" or len(row.parts) != 1 or row.instruction is None:
        return (), ()
    if len(row.instruction.operands) != 1 or not row.parts[0].elements:
        return (), ()
    fusions: list[Instruction] = []
    value = made_by(row.instruction.operands[0], fusions)
    if value is None or value.opcode != "concatenate" or len(value.shape.dims) != 1:
        return (), ()
    if sum(operand.shape.elements for operand in value.operands) != row.parts[0].elements:
        return (), ()
    return tuple(value.operands), tuple(fusions)
