"""What is used of a value: the slices in which all of its uses end, in and out of fusions.

    x -> (copy | transpose | convert | reshape | bitcast | elementwise)* -> slice | dynamic-slice

An elementwise operation and a slice can change places, so nothing of `x` is needed but what the slices take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from .flow import Flow, Value
from .instruction import Instruction
from .partition_values import values_on
from .replica_groups import Groups
from .text.attributes import integer

SLICES = frozenset(("slice", "dynamic-slice"))
_SAME = frozenset(("copy", "convert", "copy-start"))
_RESHAPES = frozenset(("reshape", "bitcast"))
_ELEMENTWISE = frozenset(("add", "subtract", "multiply", "divide", "negate", "maximum", "minimum"))
# More slices of one value than this are a loop written out, not a part that is used.
_MAX_PIECES = 64
_MAX_VISITED = 256
# Arrays of one combined collective.
_MAX_ARRAYS = 4096

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """One slice of a value. `dims`: which dimension of the value each dimension of the sliced array is; None where a
    reshape stands between."""

    piece: Value
    source: Instruction
    dims: Dims | None

    @property
    def elements(self) -> int:
        return self.piece.instruction.shape.elements

    @property
    def cut(self) -> frozenset[int] | None:
        """The dimensions of the value of which a part is taken; None where that is not known."""
        if self.dims is None or len(self.dims) != len(self.piece.instruction.shape.dims):
            return None
        sizes = zip(self.piece.instruction.shape.dims, self.source.shape.dims, self.dims, strict=True)
        return frozenset(dim for part, whole, dim in sizes if part < whole)

    def starts(self, flow: Flow, devices: Sequence[int]) -> list[Dims]:
        """Where the slice begins on each device. Raises NotConstant or NotPrinted where that is not known."""
        instruction = self.piece.instruction
        if instruction.opcode == "slice":
            return [static_starts(instruction)] * len(devices)
        given = flow.given(self.piece)
        places = [values_on(start, devices, given) for start in instruction.operands[1:]]
        return [tuple(place[at] for place in places) for at in range(len(devices))]

    def in_groups(self, flow: Flow, groups: Groups) -> list[list[Dims]]:
        """The same for the devices of each group."""
        starts = iter(self.starts(flow, [device for group in groups for device in group]))
        return [list(islice(starts, len(group))) for group in groups]


def taken(flow: Flow, value: Value) -> list[Taken] | None:
    """The slices of a value, those that take the same part once; None where a use is of the whole, or there is none."""
    rank = len(value.instruction.shape.dims)
    pending: list[tuple[Value, Dims | None]] = [(value, tuple(range(rank)))]
    seen = {value}
    found: dict[object, Taken] = {}
    while pending:
        at, dims = pending.pop()
        for reader in flow.readers(at):
            user = reader.user
            if user is None or len(seen) > _MAX_VISITED or len(found) > _MAX_PIECES:
                return None
            instruction = user.instruction
            if instruction.opcode in SLICES:
                if instruction.operands[0] is not reader.seen or reader.seen in instruction.operands[1:]:
                    return None
                piece = Taken(user, instruction.operands[0], dims)
                found.setdefault(_part(piece), piece)
            elif (onward := _moved(instruction, reader.seen, dims)) is not _USED:
                if user not in seen:
                    seen.add(user)
                    pending.append((user, onward))  # type: ignore[arg-type]
            else:
                return None
    return list(found.values()) or None


_USED = object()


def _moved(user: Instruction, seen: Instruction, dims: Dims | None) -> Dims | object | None:
    """The dimensions behind an instruction that a slice can change places with; `_USED` for one that it cannot."""
    opcode = user.opcode
    if opcode in _SAME:
        return dims
    if opcode == "transpose":
        order = [integer(n) for n in user.attributes.get("dimensions", "{}").strip("{}").split(",") if n.strip()]
        return tuple(dims[n] for n in order) if dims is not None and max(order, default=0) < len(dims) else None
    if opcode in _RESHAPES:
        return dims if user.shape.dims == seen.shape.dims else None
    if opcode in _ELEMENTWISE and user.shape.dims == seen.shape.dims:
        return dims
    # A sum over dimensions of size one moves nothing.
    if opcode == "reduce" and user.shape.dtype == seen.shape.dtype and user.shape.elements == seen.shape.elements:
        return None
    return _USED


def _part(piece: Taken) -> object:
    """What two slices of the same part have in common."""
    instruction = piece.piece.instruction
    if instruction.opcode == "slice":
        return instruction.attributes.get("slice"), instruction.shape.dims
    return (
        tuple(
            (id(start), piece.piece.around if start.opcode == "parameter" else ()) for start in instruction.operands[1:]
        ),
        instruction.shape.dims,
    )


def static_starts(instruction: Instruction) -> Dims:
    """`slice={[0:4], [8:16:2]}` -> 0, 8"""
    listed = instruction.attributes.get("slice", "").strip("{}").split(",")
    return tuple(integer(each.strip().strip("[]").split(":")[0]) for each in listed if each.strip())


def results(instruction: Instruction, number: int | None) -> Iterable[Instruction]:
    """The arrays of a collective: itself, or what is taken out of its tuple at one place.

    Where the tuple also goes elsewhere, all of it is used, and it is itself what there is to look at.
    """
    if not instruction.shape.is_tuple or number is None:
        return (instruction,)
    holders = [instruction]
    if instruction.opcode.endswith("-start"):
        holders = [user for user in instruction.users if user.opcode.endswith("-done")]
    if any(holder.is_root or not all(map(_is_element, islice(holder.users, _MAX_ARRAYS))) for holder in holders):
        return (instruction,)
    return [user for holder in holders for user in holder.users if _is_element(user) and user.tuple_index == number]


def _is_element(user: Instruction) -> bool:
    return user.opcode == "get-tuple-element"
