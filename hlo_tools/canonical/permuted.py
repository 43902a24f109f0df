"""A permute over several slices: pairs of devices within a slice, and pairs between slices.

libtpu sends the second kind as a transfer of device to device. Of the first kind each slice has its own, so that the
program of all picks them by the number of the slice it runs on:

    conditional(SliceId, x, x, ...)    branch i is a permute of x within slice i

or they are the same in every slice, and then a permute of x stands beside the transfer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..collectives import Collective
from ..instruction import Instruction
from ..participants import participants
from ..replica_groups import Groups
from ..slices import Slices
from .origin import Place

_PERMUTES = ("collective-permute", "collective-permute-start")


def inside(
    transfer: Collective, rows: Mapping[Place, Collective], slices: Slices
) -> tuple[list[Collective], Groups] | None:
    """The permutes within slices that belong to a transfer of device to device, and the pairs of all; None where it
    stands alone."""
    assert transfer.instruction is not None
    found: list[Collective] = []
    pairs = list(transfer.groups)
    for permute, numbers in _permutes(transfer.instruction.operands[0], len(slices.members)):
        own = participants(permute, permute.module, len(slices.members[0])).groups
        for number in numbers:
            members = slices.members[number]
            if any(not 0 <= device < len(members) for pair in own for device in pair):
                return None
            pairs += [tuple(members[device] for device in pair) for pair in own]
        row = rows.get((permute.computation.name, permute.name, 0))
        if row is not None:
            found.append(row)
    alike = all((row.count, row.elements) == (transfer.count, transfer.elements) for row in found)
    sources, targets = ({pair[end] for pair in pairs} for end in (0, -1))
    # Each device sends once and receives once, or these are permutes of their own.
    once = len(sources) == len(targets) == len(pairs)
    return (found, tuple(sorted(pairs))) if found and alike and once else None


def _permutes(value: Instruction, slices: int) -> Iterator[tuple[Instruction, range]]:
    """The permutes of a value, with the slices that run each."""
    for user in value.users:
        if user.opcode in _PERMUTES:
            yield user, range(slices)
        elif user.opcode == "conditional" and len(user.called) == slices and _picks_slice(user):
            for number, branch in enumerate(user.called):
                for instruction in branch.instructions:
                    if instruction.opcode in _PERMUTES and instruction.operands[0].opcode == "parameter":
                        yield instruction, range(number, number + 1)


def _picks_slice(conditional: Instruction) -> bool:
    picker = conditional.operands[0]
    return picker.opcode == "custom-call" and "SliceId" in picker.attributes.get("custom_call_target", "")
