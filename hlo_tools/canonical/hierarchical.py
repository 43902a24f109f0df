"""A collective over several slices, run in steps: inside the slices, between them, inside again.

    all-reduce over (outer, inner)  =  reduce-scatter over inner, all-reduce over outer, all-gather over inner
                                    or, where it is small, all-reduce over inner, all-reduce over outer
    reduce-scatter over both        =  all-reduce over inner, of which each device takes 1/n, reduce-scatter over outer
    all-gather over both            =  all-gather over outer, all-gather over inner

The steps become one row over both groups of axes, of the elements of the whole array. A program may just as well ask
for these steps one by one, so they are joined only as far as the partitioned program asks for as much over the axes of
all. Several arrays may be packed into one buffer for a transfer, with steps around it or without: then there is a row
for each, and the rounding of the buffer is left out. A permute runs in two parts that are no steps: within slices and
between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..collectives import Collective, CollectiveLedger
from ..mesh_axes import axes_of, axes_of_pairs
from ..replica_groups import united
from ..slices import slices_of
from ..transfers import Part
from .combined import part_number, parts_of
from .origin import Place, origin, place_of
from .packed import Array, packed, sent
from .permuted import inside
from .pool import Pool, key_of
from .rewrites.hierarchical import JOINT
from .rewrites.sum_spelling import SUMS
from .steps import receivers_of, steps_around
from .sum_of_sums import pairs


class Whole(NamedTuple):
    """Rows of the ledger and what they are together; `between` is the transfer between slices."""

    steps: list[Collective]
    rows: list[Collective]
    between: Collective


def in_one_step(ledger: CollectiveLedger, asked: CollectiveLedger) -> CollectiveLedger:
    """The ledger with the steps of collectives over several slices as one row each, in the place of the first.

    `asked` is the canonical ledger of the partitioned program.
    """
    if not any(row.between_slices for row in ledger.rows):
        return ledger
    rows = {place_of(row): row for row in ledger.rows if row.instruction is not None}
    receivers = receivers_of(ledger.rows)
    found = list(_permutes(ledger, rows))
    permuted = {id(whole.between) for whole in found}
    for row in ledger.rows:
        if id(row) not in permuted and (steps := steps_around(row, rows, receivers)):
            found.append(Whole(steps, list(_joined(steps, row, ledger)), row))
    wholes: dict[int, list[Collective]] = {}
    gone: set[int] = set()
    for whole in _as_asked(found, ledger, asked):
        if not any(id(step) in gone for step in whole.steps):
            gone.update(id(step) for step in whole.steps)
            wholes[id(whole.steps[0])] = whole.rows
    return replace(
        ledger,
        rows=[new for row in ledger.rows for new in wholes.get(id(row), () if id(row) in gone else (row,))],
    )


def _as_asked(found: list[Whole], ledger: CollectiveLedger, asked: CollectiveLedger) -> Iterator[Whole]:
    """Steps together as long as the partitioned program asks for that much over their axes, else the transfer alone.

    Those of a size that it asks for come first. Sums of sums may have become one; their own two steps look the same.
    """
    room: Counter[object] = Counter()
    folded: Counter[object] = Counter()
    sizes: set[tuple[object, int]] = set()
    entries = Pool.of(asked).entries
    for entry in entries:
        room[entry.key.axes] += entry.row.elements
        sizes.add((entry.key.axes, entry.key.each))
    for inner, outer in pairs(iter(entries)):
        groups = united((*inner.row.groups, *outer.row.groups))
        folded[axes_of(groups, ledger.mesh) if ledger.mesh is not None else groups] += inner.row.elements

    def is_of_other_size(whole: Whole) -> bool:
        return any((key.axes, key.each) not in sizes for key in map(key_of, whole.rows))

    for whole in sorted(found, key=is_of_other_size):
        axes, elements = key_of(whole.rows[0]).axes, sum(row.elements for row in whole.rows)
        spare = room if room[axes] > 0 or len(whole.steps) < 3 else folded
        if len(whole.steps) > 1 and spare[axes] <= 0:
            yield Whole([whole.between], list(_joined([whole.between], whole.between, ledger)), whole.between)
        else:
            spare[axes] -= elements
            yield whole


def _permutes(ledger: CollectiveLedger, rows: dict[Place, Collective]) -> Iterator[Whole]:
    """Permutes between slices with those within, in the place of the transfer."""
    slices = slices_of(ledger.mesh)
    for row in ledger.rows:
        if slices is None or ledger.mesh is None or row.kind != "collective-permute" or not row.between_slices:
            continue
        parts = inside(row, rows, slices) if row.instruction is not None and row.instruction.opcode == "send" else None
        if parts is not None:
            others, pairs = parts
            name = JOINT.join(one.name for one in (row, *others))
            whole = replace(row, name=name, axes=axes_of_pairs(pairs, ledger.mesh), groups=pairs, own_groups=())
            yield Whole([row, *others], [whole], row)


def _joined(steps: list[Collective], between: Collective, ledger: CollectiveLedger) -> Iterator[Collective]:
    """One row over the axes of all steps, or one for each array that was packed."""
    first = steps[0]
    whole = steps[-1] if between.kind == "all-gather" else first
    groups = united(group for step in steps for group in step.groups)
    size = max((len(group) for group in groups), default=between.group_size)
    each = whole.elements // whole.count
    arrays = _arrays(steps, between) if between.kind in SUMS else ()
    width = whole.operand_bytes // whole.count // (each // (whole.group_size if whole.kind == "all-gather" else 1))
    operand_shards = size if between.kind == "all-gather" else 1
    result_shards = size if between.kind == "reduce-scatter" else 1
    parts = [
        Part(n, whole.dtype, n * width // operand_shards, n * width // result_shards)
        for n in [array.elements for array in arrays] or [each]
    ]
    row = replace(whole, kind=between.kind, between_slices=True, parts=tuple(parts))
    if len(steps) > 1:
        row = replace(
            row,
            name=JOINT.join(step.name for step in steps),
            axes=axes_of(groups, ledger.mesh) if ledger.mesh is not None else None,
            groups=groups,
            group_size=size,
            own_groups=(),
        )
    if len(parts) > 1:
        for array, part in zip(arrays, parts_of(row), strict=True):
            yield replace(part, packed=(array.value, array.fusions))
        return
    (part,) = parts
    yield replace(
        row,
        elements=part.elements * row.count,
        operand_bytes=part.operand_bytes * row.count,
        result_bytes=part.result_bytes * row.count,
    )


def _arrays(steps: list[Collective], between: Collective) -> tuple[Array, ...]:
    """The arrays of the buffer that the first step sums."""
    first = steps[0]
    assert first.instruction is not None and between.instruction is not None
    each = first.elements // first.count
    if len(steps) == 1:
        return sent(between.instruction, each)
    fusions = origin(between.instruction.operands[0]).fusions
    return packed(first.instruction.operands[part_number(first) or 0], fusions, each, first.group_size)
