"""Gathers of which every device uses no more than a shard's worth, and how that could have come about with less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ...hlo_tools.canonical.provenance import MOVES
from ...hlo_tools.collectives import Collective
from ...hlo_tools.flow import Value
from ...hlo_tools.partition_values import NotConstant, NotPrinted
from ...hlo_tools.taken import Taken, taken
from ...hlo_tools.text.attributes import integer
from .evidence import DumpEvidence

Use = Literal["own", "same", "other", "part", "otherwise"]
"""Of what was gathered each device uses its own shard; all of them one and the same; the shard of another; some part; a
cut through another dimension."""
_MAX_STEPS = 64
_MAX_CHAIN = 8


@dataclass(frozen=True, slots=True)
class Cut:
    """`rows` are the gathers in a chain, first to last; `used_bytes` is what a device takes of the result each time."""

    rows: tuple[Collective, ...]
    use: Use
    pieces: tuple[Taken, ...]
    used_bytes: int
    certain: bool

    @property
    def last(self) -> Collective:
        return self.rows[-1]

    @property
    def received_bytes(self) -> int:
        """Per device and step; a ring gather receives what it sends."""
        return sum(row.ring_bytes for row in self.rows)


def cuts(evidence: DumpEvidence) -> Iterator[Cut]:
    """Every gather whose result is only cut, with the gathers before it."""
    for row in evidence.rows:
        if row.kind == "all-gather" and len(row.parts) == 1 and row.instruction is not None:
            found = _cut(row, evidence)
            if found is not None:
                yield found


def _cut(row: Collective, evidence: DumpEvidence) -> Cut | None:
    assert row.instruction is not None
    pieces = taken(evidence.flow, evidence.flow.at(row.instruction))
    if pieces is None:
        return None
    used, whole = sum(piece.elements for piece in pieces), row.elements // row.count
    if used * row.group_size > whole:
        return None
    decided = _use(row, pieces, evidence)
    if decided is None:
        return None
    use, certain = decided
    rows = tuple(reversed([row, *_before(row, evidence)])) if use == "otherwise" else (row,)
    size = row.result_bytes // row.count
    return Cut(rows, use, tuple(pieces), size * used // max(whole, 1), certain)


def _use(row: Collective, pieces: Sequence[Taken], evidence: DumpEvidence) -> tuple[Use, bool] | None:
    """What the devices use, and whether that is known of each; None where it depends on data."""
    assert row.instruction is not None
    gathered = integer(row.instruction.attributes.get("dimensions", "").strip("{}") or "0")
    groups = row.own_groups or row.groups
    certain = True
    places: list[list[tuple[int, ...]]] = []
    for piece in pieces:
        try:
            places += piece.in_groups(evidence.flow, groups)
        except NotConstant:
            return None
        except NotPrinted:
            certain = False
    cut = [piece.cut for piece in pieces]
    if any(each is not None and each - {gathered} for each in cut):
        return "otherwise", certain
    if None in cut or not certain:
        return "part", certain
    if all(len(set(group)) == 1 for group in places):
        return "same", True
    if len(pieces) > 1 or pieces[0].dims is None or gathered not in pieces[0].dims:
        return "part", True
    at = pieces[0].dims.index(gathered)
    shard = pieces[0].piece.instruction.shape.dims[at]
    own = all(start[at : at + 1] == (rank * shard,) for group in places for rank, start in enumerate(group))
    return ("own" if own else "other"), True


def _before(row: Collective, evidence: DumpEvidence) -> Iterator[Collective]:
    """The gathers whose result, moved, this one gathers further; the last first."""
    for _ in range(_MAX_CHAIN):
        assert row.instruction is not None
        value = evidence.flow.operands(evidence.flow.at(row.instruction))[0]
        for _ in range(_MAX_STEPS):
            if value.instruction.opcode not in MOVES:
                break
            value = evidence.flow.operands(Value(value.instruction, value.around))[0]
        before = evidence.by_name.get((value.instruction.computation.name, value.instruction.name))
        if before is None or before.kind != "all-gather" or before is row:
            return
        row = before
        yield row
