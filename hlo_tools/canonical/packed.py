"""Arrays that were packed into one buffer before they were sent between slices.

    concatenate(a, b, ...)    dynamic-update-slice(buffer, a, at)    maximum(pad(a), pad(b))    pad(a)

and a scalar that a bitcast lays into a whole tile. libtpu packs the sums that cross the data-centre network so, and
rounds the buffer up to whole tiles; `ZeroCrop` fills each dimension of an array up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..instruction import Instruction
from .fused_values import made_by

# Elements of a tile of 8 rows and 128 lanes: a buffer is rounded up to one tile for each device that holds a part.
TILE = 8 * 128
_MAX_VISITED = 512


class Array(NamedTuple):
    """One array in a buffer, and the fusions around it, innermost last."""

    elements: int
    value: Instruction
    fusions: tuple[Instruction, ...]


def packed(value: Instruction, fusions: Sequence[Instruction], elements: int, devices: int) -> tuple[Array, ...]:
    """The arrays in a buffer of `elements`, of which each of `devices` devices holds a part.

    `fusions` are those around the buffer, innermost last. The buffer itself where it is no such packing: where the
    arrays do not fill it but for the rounding.
    """
    whole = Array(elements, value, tuple(fusions))
    found, filled = _arrays(whole)
    spare = elements - filled - sum(array.elements for array in found)
    return tuple(found) if found and 0 <= spare < TILE * devices else (whole,)


def sent(transfer: Instruction, elements: int) -> tuple[Array, ...]:
    """The arrays in the buffer that a transfer between slices sends."""
    return packed(transfer.operands[0], (), elements, 1)


def _arrays(whole: Array) -> tuple[list[Array], int]:
    """The arrays, and the elements that others were filled up with."""
    found: list[Array] = []
    filled = 0
    pending = [whole]
    visited = 0
    while pending:
        buffer = pending.pop()
        fusions = list(buffer.fusions)
        made = made_by(buffer.value, fusions)
        visited += 1
        if made is None or visited > _MAX_VISITED:
            return [], 0
        operands = _packed_operands(made)
        if operands is None:
            found.append(buffer._replace(elements=min(made.shape.elements, buffer.value.shape.elements)))
        elif is_filled_up(made):
            filled += made.shape.elements - operands[0].shape.elements
        pending += [Array(0, operand, tuple(fusions)) for operand in reversed(operands or ())]
    return found, filled


def is_filled_up(made: Instruction) -> bool:
    """Whether this fills the dimensions of its operand up to whole tiles, or takes that away again."""
    return (
        made.opcode == "custom-call"
        and bool(made.operands)
        and "ZeroCrop" in made.attributes.get("custom_call_target", "")
    )


def _packed_operands(made: Instruction) -> tuple[Instruction, ...] | None:
    """What a packing packs; () for an empty buffer, None where this is an array of its own."""
    opcode, operands = made.opcode, made.operands
    if opcode == "concatenate":
        return tuple(operands)
    if opcode == "pad":
        return tuple(operands[:1])
    if opcode == "dynamic-update-slice":
        # At a place of its own on every device it is a shard among zeros: a gather.
        return tuple(operands[:2]) if all(at.opcode == "constant" for at in operands[2:]) else None
    if opcode == "maximum":
        return tuple(operands)
    if opcode == "constant" or (opcode == "broadcast" and operands[0].opcode == "constant"):
        return ()
    if is_filled_up(made):
        return tuple(operands[:1])
    if opcode == "custom-call" and not operands:
        return ()
    return None
