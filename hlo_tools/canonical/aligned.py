"""A scatter whose shards come out longer than an equal part, and the permute that puts them right.

TPU's ring pads what it scatters to whole tiles for every device, so that shards do not begin where they should. A
permute passes the end of each device's shard on to the next, which then cuts its own part out of both:

    scatter(pad(x)) -> concatenate(permute(slice(shard)), shard) -> dynamic-slice  =  scatter(x)

The scatter counts with the elements of x, and the permute is part of it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ..collectives import Collective, CollectiveLedger
from ..instruction import Instruction
from ..transfers import nearest
from .combined import part_number
from .origin import Place, end_and_shard, origin, place_of


def without_alignment(ledger: CollectiveLedger) -> CollectiveLedger:
    """The ledger with every such pair as the one scatter that it is."""
    rows = {place_of(row): row for row in ledger.rows if row.instruction is not None}
    scatters: dict[int, Collective] = {}
    gone: set[int] = set()
    for row in ledger.rows:
        found = _scatter(row, rows)
        if found is not None and found.count == row.count:
            gone.add(id(row))
            scatters[id(found)] = _unpadded(found)
    if not gone:
        return ledger
    return replace(ledger, rows=[scatters.get(id(row), row) for row in ledger.rows if id(row) not in gone])


def _scatter(row: Collective, rows: dict[Place, Collective]) -> Collective | None:
    """The scatter whose shards this permute aligns."""
    permute = row.instruction
    if row.kind != "collective-permute" or permute is None:
        return None
    joined = next((user for end in _ends(permute) for user in end.users if user.opcode == "concatenate"), None)
    pair = end_and_shard(joined) if joined is not None else None
    if pair is None or pair[0] is not permute:
        return None
    found = rows.get(origin(pair[1]).place)
    return found if found is not None and found.kind == "reduce-scatter" and _before_padding(found) else None


def _ends(permute: Instruction) -> tuple[Instruction, ...]:
    done = tuple(user for user in permute.users if user.opcode == "collective-permute-done")
    return (permute, *done)


def _before_padding(row: Collective) -> int:
    """Elements of the array whose padded form a scatter reads; 0 where it reads no padded one."""
    assert row.instruction is not None
    operand = row.instruction.operands[part_number(row) or 0]
    return operand.operands[0].shape.elements if operand.opcode == "pad" else 0


def _unpadded(row: Collective) -> Collective:
    """The row for the elements before padding."""
    elements, padded = _before_padding(row) * row.count, row.elements
    operand_bytes = row.operand_bytes * elements // padded
    ring = Fraction(operand_bytes * (row.group_size - 1), row.group_size)
    return replace(
        row,
        elements=elements,
        operand_bytes=operand_bytes,
        result_bytes=operand_bytes // row.group_size,
        ring_bytes=nearest(ring),
        ring_exact=ring,
    )
