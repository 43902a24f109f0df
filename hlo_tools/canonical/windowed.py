"""A windowed einsum is one gather or scatter: a matrix product that passes shards around a ring while it multiplies.

The partitioner writes `all-gather -> dot` (or `dot -> reduce-scatter`) over n devices as a loop of collective permutes,
whose body it calls `windowed_dot_general_body_ag` (`_rs`). A loop sends each shard, of S/n elements, n or n - 1 times;
going both ways round the ring takes one permute more, before a gather or behind a scatter. All of them together do
what one all-gather (reduce-scatter) of S elements does. Loops of other names are the user's own rings and stay.

Source: Wang et al., ASPLOS 2023 ("Overlap Communication with Dependent Computation via Decomposition"); names and forms
in xla/service/spmd/dot_handler.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ..collectives import Collective, CollectiveLedger
from ..instruction import Instruction
from ..module import HloModule
from ..replica_groups import united
from ..transfers import Part, Transfer, nearest
from ..trip_counts import trip_count

_BODY = re.compile(r"(?:^|\.)windowed_dot_general_body_(ag|rs)(?:\.|$)")
_KINDS = {"ag": "all-gather", "rs": "reduce-scatter"}
_MOVES = frozenset(
    (
        *("copy", "bitcast", "reshape", "transpose", "get-tuple-element"),
        *("collective-permute-done", "copy-start", "copy-done", "add", "slice", "concatenate", "fusion"),
    )
)
_MAX_VISITED = 256


def folded(ledger: CollectiveLedger) -> CollectiveLedger:
    """The ledger with the permutes of every windowed einsum as one row, in the place of the first."""
    loops: dict[str, list[Collective]] = {}
    for row in ledger.rows:
        if row.kind == "collective-permute" and row.instruction is not None and _BODY.search(row.computation):
            loops.setdefault(row.computation, []).append(row)
    for inside in loops.values():
        inside.sort(key=_first)
    if not loops:
        return ledger
    module = next(row.instruction.module for rows in loops.values() for row in rows if row.instruction is not None)
    around = {(row.computation, row.name): row for row in ledger.rows if row.computation not in loops}
    folds: dict[int, Collective] = {}
    gone: set[int] = set()
    for loop in _loops(module, loops):
        inside = loops[loop.called[0].name]
        whole = _whole(loop, inside)
        if whole is None or id(inside[0]) in gone:
            continue
        gone.update(id(row) for row in inside)
        beside = (around[place] for place in _neighbours(loop, _shard(inside[0])) if place in around)
        ends = [row for row in beside if _alike(row, inside[0]) and row.count == whole.count and id(row) not in gone]
        if ends:
            gone.add(id(min(ends, key=_first)))
        folds[id(inside[0])] = whole
    rows = [folds.get(id(row), row) for row in ledger.rows if id(row) in folds or id(row) not in gone]
    return replace(ledger, rows=rows)


def _loops(module: HloModule, bodies: dict[str, list[Collective]]) -> Iterator[Instruction]:
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode == "while":
                loop = computation.instruction_at(position)
                if loop.called and loop.called[0].name in bodies:
                    yield loop


def _whole(loop: Instruction, inside: list[Collective]) -> Collective | None:
    """The row that the permutes of a loop stand for; None where they do not go once around."""
    first = inside[0]
    trips = trip_count(loop)
    devices = first.group_size
    if not trips or devices < 2 or any(not _alike(row, first) or row.count != first.count for row in inside):
        return None
    count, rest = divmod(first.count, trips)
    if rest or not count or trips * len(inside) not in (devices - 1, devices):
        return None
    match = _BODY.search(first.computation)
    assert match is not None
    kind = _KINDS[match[1]]
    shard = first.operand_bytes // first.count
    gathers = kind == "all-gather"
    each = _shard(first) * devices
    part = Part(each, first.dtype, shard if gathers else shard * devices, shard * devices if gathers else shard)
    ring: Fraction = Transfer(kind, (part,), size=devices).ring_bytes * count
    return replace(
        first,
        name=loop.name,
        kind=kind,
        groups=united(first.groups),
        own_groups=united(first.own_groups),
        count=count,
        count_min=min(count, first.count_min),
        dearest=None if first.dearest is None else first.dearest // trips,
        elements=each * count,
        operand_bytes=part.operand_bytes * count,
        result_bytes=part.result_bytes * count,
        ring_bytes=nearest(ring),
        ring_exact=ring,
        loop_depth=first.loop_depth - 1,
        loop=loop,
        computation=loop.computation.name,
        parts=(part,),
    )


def _first(row: Collective) -> tuple[int, str]:
    """An order of permutes that does not follow the one in which they are printed."""
    return row.channel_id or 0, row.name


def _shard(row: Collective) -> int:
    """Elements of one permute."""
    return row.elements // row.count


def _alike(row: Collective, other: Collective) -> bool:
    """Whether two permutes send as much, of one dtype, around the same rings."""
    return (
        row.kind == other.kind
        and (row.axes, row.dtype, row.group_size) == (other.axes, other.dtype, other.group_size)
        and _shard(row) == _shard(other)
    )


def _neighbours(loop: Instruction, shard: int) -> Iterator[tuple[str, str]]:
    """Computation and name of the permutes next to a loop, before or behind it, past moves of a shard's elements."""
    for step in ("operands", "users"):
        pending, seen = [loop], {id(loop)}
        while pending and len(seen) < _MAX_VISITED:
            value = pending.pop(0)
            for other in value.operands if step == "operands" else value.users:
                if other.opcode in ("collective-permute", "collective-permute-start"):
                    yield other.computation.name, other.name
                elif id(other) not in seen and (
                    (step == "operands" and other.opcode == "tuple")
                    or (other.opcode in _MOVES and (other.shape.is_tuple or other.shape.elements == shard))
                ):
                    seen.add(id(other))
                    pending.append(other)
