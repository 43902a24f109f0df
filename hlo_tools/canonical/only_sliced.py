"""An all-reduce of which every device uses only its own slice is a reduce-scatter.

    all-reduce(x) -> (copy | transpose | convert | reshape | bitcast | elementwise)* -> dynamic-slice(by partition
    number)

An elementwise operation and a slice can change places, so it makes no difference that, for example, two sums are
added before they are sliced. The rule holds where every use of the result ends in such a slice, each slice is 1/n of
the array and the n devices of a group take n different ones. It does not hold where the slices of a group overlap or
repeat: a sum over (data, fsdp) sliced over fsdp alone stays an all-reduce.

The partitioner writes every sharded sum this way; only some backends turn it into a reduce-scatter instruction
(CUDA mostly does; CPU does not; TPU does inside its own fusions).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ..collectives import Collective
from ..instruction import Instruction
from ..transfers import nearest
from .partition_values import NotConstant, NotPrinted, value_on

_MOVES = frozenset(("copy", "transpose", "convert", "reshape", "bitcast"))
_ELEMENTWISE = frozenset(("add", "subtract", "multiply", "divide", "negate"))
# More users than a sliced gradient ever has: beyond it the result counts as used whole, which keeps the search linear.
_MAX_VISITED = 64


def as_reduce_scatter(row: Collective) -> Collective:
    """The row itself, or the same row as a reduce-scatter where all its uses are slices of 1/n."""
    if row.kind != "all-reduce" or row.group_size < 2 or row.instruction is None or row.count == 0:
        return row
    slices = list(_slices(row.instruction))
    if not slices or None in slices:
        return row
    if not all(one is not None and _scatters(one, row) for one in slices):
        return row
    ring = Fraction(row.operand_bytes * (row.group_size - 1), row.group_size)
    return replace(
        row,
        kind="reduce-scatter",
        result_bytes=row.operand_bytes // row.group_size,
        ring_bytes=nearest(ring),
        ring_exact=ring,
    )


def _slices(result: Instruction) -> Iterator[Instruction | None]:
    """The dynamic slices in which the uses of a result end; None for a use of the whole."""
    pending, seen = [result], {id(result)}
    while pending:
        value = pending.pop()
        users = value.users
        if value.is_root or not users or len(seen) > _MAX_VISITED:
            yield None
            return
        for user in users:
            if user.opcode == "dynamic-slice" and user.operands[0] is value and value not in user.operands[1:]:
                yield user
            elif _commutes(user, value):
                if id(user) not in seen:
                    seen.add(id(user))
                    pending.append(user)
            else:
                yield None
                return


def _commutes(user: Instruction, value: Instruction) -> bool:
    """Whether a slice of the operation is the operation of a slice."""
    if user.opcode in _MOVES:
        return True
    if user.opcode in _ELEMENTWISE:
        return user.shape.dims == value.shape.dims
    # A sum over dimensions of size one moves nothing: JAX writes one where a broadcast of such a dimension is
    # transposed.
    return (
        user.opcode == "reduce"
        and user.shape.dtype == value.shape.dtype
        and user.shape.elements == value.shape.elements
    )


def _scatters(piece: Instruction, row: Collective) -> bool:
    """Whether the devices of every group take different slices of 1/n of the array.

    Where the text leaves the table of starts out, a slice of 1/n at a place looked up by partition number is enough.
    """
    if piece.shape.elements * row.group_size != piece.operands[0].shape.elements:
        return False
    try:
        for group in row.groups:
            starts = {tuple(value_on(start, device) for start in piece.operands[1:]) for device in group}
            if len(starts) != len(group):
                return False
    except NotConstant:
        return False
    except NotPrinted:
        return True
    return True
