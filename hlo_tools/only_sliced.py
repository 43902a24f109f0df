"""Whether every device uses only its own slice of a sum: then the sum is a reduce-scatter.

    all-reduce(x) -> (copy | transpose | convert | reshape | bitcast | elementwise)* -> dynamic-slice(by partition
    number)

An elementwise operation and a slice can change places, so it makes no difference that, for example, two sums are
added before they are sliced, nor whether a fusion does any of it. The rule holds where every use of the result ends in
such a slice, each slice is 1/n of the array and the n devices of a group take n different ones. It does not hold where
the slices of a group overlap or repeat: a sum over (data, fsdp) sliced over fsdp alone is a reduce-scatter over fsdp
and an all-reduce over data.
"""

from __future__ import annotations

from .flow import Flow, Value
from .instruction import Instruction
from .partition_values import NotConstant, NotPrinted
from .replica_groups import Groups
from .taken import Taken, results, taken


def is_only_sliced(
    flow: Flow,
    instruction: Instruction,
    groups: Groups,
    size: int,
    number: int | None = None,
    alike: Groups = (),
    inside: bool = False,
) -> bool:
    """Whether all uses of an all-reduce are slices of 1/n, one for each of the `size` devices of each of `groups`.

    Devices of one group of `alike` take the same slice. Groups in the program's own numbers; `number` is the array
    looked at of those that a combined sum returns. `inside` looks for them in the computation of the sum alone.
    """
    if number is None and instruction.shape.is_tuple and len(instruction.operands) > 1:
        return False
    arrays = [Value(array) if inside else flow.at(array) for array in results(instruction, number)]
    return bool(arrays) and all(
        pieces is not None and are_shares(flow, pieces, groups, size, alike)
        for pieces in (taken(flow, array) for array in arrays)
    )


def are_shares(flow: Flow, pieces: list[Taken], groups: Groups, size: int, alike: Groups = ()) -> bool:
    """Whether the devices of every group take different slices of 1/n of the array, those of `alike` the same.

    Where the text leaves the table of starts out, a slice of 1/n at a place looked up by partition number is enough.
    """
    for piece in pieces:
        if piece.elements * size != piece.source.shape.elements:
            return False
        try:
            apart, same = piece.in_groups(flow, groups), piece.in_groups(flow, alike)
        except NotConstant:
            return False
        except NotPrinted:
            continue
        if any(len(set(starts)) != len(starts) for starts in apart) or any(len(set(starts)) > 1 for starts in same):
            return False
    return True
