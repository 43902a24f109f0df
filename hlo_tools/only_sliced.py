"""Whether every device uses only its own slice of a sum: then the sum is a reduce-scatter.

    all-reduce(x) -> (copy | transpose | convert | reshape | bitcast | elementwise)* -> dynamic-slice(by partition
    number)

An elementwise operation and a slice can change places, so it makes no difference that, for example, two sums are
added before they are sliced. The rule holds where every use of the result ends in such a slice, each slice is 1/n of
the array and the n devices of a group take n different ones. It does not hold where the slices of a group overlap or
repeat: a sum over (data, fsdp) sliced over fsdp alone is a reduce-scatter over fsdp and an all-reduce over data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .instruction import Instruction
from .partition_values import NotConstant, NotPrinted, values_on
from .replica_groups import Groups

_MOVES = frozenset(("copy", "transpose", "convert", "reshape", "bitcast"))
_ELEMENTWISE = frozenset(("add", "subtract", "multiply", "divide", "negate"))
# More users than a sliced gradient ever has: beyond it the result counts as used whole, which keeps the search linear.
_MAX_VISITED = 64
# Arrays of one combined sum.
_MAX_ARRAYS = 4096


def is_only_sliced(
    instruction: Instruction, groups: Groups, size: int, number: int | None = None, alike: Groups = ()
) -> bool:
    """Whether all uses of an all-reduce are slices of 1/n, one for each of the `size` devices of each of `groups`.

    Devices of one group of `alike` take the same slice. Groups in the program's own numbers; `number` is the array
    looked at of those that a combined sum returns.
    """
    slices = list(_slices(_results(instruction, number)))
    return bool(slices) and all(one is not None and _scatters(one, groups, size, alike) for one in slices)


def _results(instruction: Instruction, number: int | None) -> list[Instruction]:
    """The array looked at: the instruction, or what is taken out of its tuple."""
    if not instruction.shape.is_tuple or (number is None and len(instruction.operands) > 1):
        return [instruction]
    number = number or 0
    if (
        instruction.is_root
        or len(instruction.users) > _MAX_ARRAYS
        or any(user.opcode != "get-tuple-element" for user in instruction.users)
    ):
        return [instruction]
    return [user for user in instruction.users if user.tuple_index == number]


def _slices(results: list[Instruction]) -> Iterator[Instruction | None]:
    """The dynamic slices in which the uses of a result end; None for a use of the whole."""
    pending, seen = list(results), {id(result) for result in results}
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


def _scatters(piece: Instruction, groups: Groups, size: int, alike: Groups) -> bool:
    """Whether the devices of every group take different slices of 1/n of the array, those of `alike` the same.

    Where the text leaves the table of starts out, a slice of 1/n at a place looked up by partition number is enough.
    """
    if piece.shape.elements * size != piece.operands[0].shape.elements:
        return False
    try:
        starts = _starts(piece, {device for group in (*groups, *alike) for device in group})
    except NotConstant:
        return False
    except NotPrinted:
        return True
    return all(len({starts[device] for device in group}) == len(group) for group in groups) and all(
        len({starts[device] for device in group}) == 1 for group in alike
    )


def _starts(piece: Instruction, devices: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """Where the slice of each device begins."""
    listed = sorted(devices)
    places = [values_on(start, listed) for start in piece.operands[1:]]
    return {device: tuple(place[at] for place in places) for at, device in enumerate(listed)}
