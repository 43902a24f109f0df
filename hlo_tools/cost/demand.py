"""How much of each parameter a fusion reads, and how much of its result it writes: demand carried back from the root.

A fusion computes only what its result needs. A slice needs of its operand what it takes; arithmetic needs an element
for an element; a product or a reduction needs all. What is handed on untouched, or changed in place, is not moved.
"""

from __future__ import annotations

from ..instruction import Instruction
from ..module import Computation
from ..transfers import KINDS
from .opcodes import ELEMENTWISE, TRANSCENDENTAL

TAKES = frozenset(("slice", "dynamic-slice", "gather"))
CHANGES = frozenset(("dynamic-update-slice", "scatter"))
# An element of the result needs at most one element of each operand.
_ELEMENT_FOR_ELEMENT = frozenset(
    (
        *ELEMENTWISE,
        *TRANSCENDENTAL,
        *("bitcast", "broadcast", "concatenate", "copy", "opt-barrier", "pad", "reshape", "reverse", "transpose"),
    )
)
_HANDED_ON = frozenset(("parameter", "get-tuple-element"))
# Opcodes without which a fusion reads all of its parameters and writes all of its result.
_PARTIAL = frozenset((*TAKES, *CHANGES, "fusion", *KINDS))
# Fusions inside fusions deeper than this are taken to read everything.
_MAX_DEPTH = 50


class Demand:
    """Reads and writes of fused computations, in elements; each computation is looked at once."""

    def __init__(self) -> None:
        self._reads: dict[str, dict[int, int]] = {}

    def reads(self, fused: Computation, depth: int = 0) -> dict[int, int]:
        """Elements read of those parameters that are not read whole, by parameter number."""
        known = self._reads.get(fused.name)
        if known is not None:
            return known
        self._reads[fused.name] = {}
        if not partial(fused) or depth > _MAX_DEPTH:
            return {}
        found = self._reads[fused.name] = self._carried_back(fused, depth)
        return found

    def _carried_back(self, fused: Computation, depth: int) -> dict[int, int]:
        needed: dict[int, int] = {}
        for value, elements in written(fused):
            needed[id(value)] = needed.get(id(value), 0) + elements
        in_place = {id(value) for value, _ in written(fused) if changes_in_place(value)}
        found: dict[int, int] = {}
        for user in reversed(fused.instructions):
            amount = min(needed.get(id(user), 0), user.shape.elements)
            if user.opcode == "parameter":
                if amount < user.shape.elements:
                    found[user.parameter_number or 0] = amount
            elif amount:
                for place, operand in enumerate(user.operands):
                    part = self._of_operand(user, place, operand, amount, id(user) in in_place, depth)
                    needed[id(operand)] = needed.get(id(operand), 0) + part
        return found

    def _of_operand(
        self, user: Instruction, place: int, operand: Instruction, amount: int, in_place: bool, depth: int
    ) -> int:
        """Elements of one operand that `amount` elements of its user need."""
        opcode = user.opcode
        whole = operand.shape.elements
        if opcode in KINDS:
            return 0
        if opcode in _ELEMENT_FOR_ELEMENT or (opcode in TAKES and place == 0):
            return min(amount, whole)
        if opcode in CHANGES and place == 0:
            return 0 if in_place else min(amount, whole)
        if opcode == "fusion" and user.called:
            return self.reads(user.called[0], depth + 1).get(place, whole)
        return whole


def partial(fused: Computation) -> bool:
    """Whether a fusion may read less than its parameters or write less than its result."""
    return not _PARTIAL.isdisjoint(fused.opcodes())


def written(fused: Computation) -> list[tuple[Instruction, int]]:
    """What a fusion writes: (value, elements of it) for each part of its result that is not handed on untouched."""
    found: list[tuple[Instruction, int]] = []
    pending = [fused.root]
    while pending:
        value = past_bitcasts(pending.pop())
        if value.opcode == "tuple":
            pending.extend(reversed(value.operands))
        elif changes_in_place(value):
            arrays = (len(value.operands) - 1) // 2
            update = value.operands[1] if value.opcode == "dynamic-update-slice" else value.operands[arrays + 1]
            found.append((value, update.shape.elements))
        elif value.opcode not in _HANDED_ON and value.opcode not in KINDS:
            found.append((value, value.shape.elements))
    return found


def changes_in_place(value: Instruction) -> bool:
    """An update whose target is a parameter of the fusion: only the changed part is touched."""
    if value.opcode not in CHANGES or len(value.operands) < 3 or value.shape.is_tuple:
        return False
    return past_bitcasts(value.operands[0]).opcode in _HANDED_ON


def past_bitcasts(value: Instruction) -> Instruction:
    while value.opcode == "bitcast" and value.operands:
        value = value.operands[0]
    return value
