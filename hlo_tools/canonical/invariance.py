"""Whether a value in a loop body is the same in every round."""

from __future__ import annotations

from ..instruction import Instruction
from ..module import Computation

_SIDE_EFFECTS = frozenset(
    (
        "infeed",
        "outfeed",
        "send",
        "recv",
        "rng",
        "rng-bit-generator",
        "rng-get-and-update-state",
        "custom-call",
        "while",
    )
)
# A gathered parameter is a few moves away from the loop's input; more than this is a computation of its own.
_MAX_VISITED = 256


Unchanged = dict[str, set[int] | None]


def is_loop_invariant(instruction: Instruction, known: Unchanged | None = None) -> bool:
    """Whether all operands follow from constants and from loop inputs that the loop hands on unchanged.

    Looks at the computation the instruction stands in, which must be the body of a loop carrying one tuple. `known`
    keeps what was found of the bodies of one module, for further calls.
    """
    body = instruction.computation
    known = {} if known is None else known
    if body.name not in known:
        known[body.name] = _unchanged(body)
    kept = known[body.name]
    if kept is None:
        return False
    pending, seen = list(instruction.operands), set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if len(seen) > _MAX_VISITED or value.opcode in _SIDE_EFFECTS:
            return False
        if value.opcode == "get-tuple-element" and value.operands and value.operands[0].opcode == "parameter":
            if value.tuple_index not in kept:
                return False
            continue
        if value.opcode == "parameter":
            return False
        pending.extend(value.operands)
    return True


def _unchanged(body: Computation) -> set[int] | None:
    """The positions of the carried tuple that the body returns as it got them; None where it carries no tuple."""
    root, parameters = body.root, body.parameters
    if root.opcode != "tuple" or len(parameters) != 1:
        return None
    kept = set()
    for position, value in enumerate(root.operands):
        for _ in range(_MAX_VISITED):
            if value.opcode != "copy" or not value.operands:
                break
            value = value.operands[0]
        taken = value.operands[:1] if value.opcode == "get-tuple-element" else ()
        if value.tuple_index == position and taken == (parameters[0],):
            kept.add(position)
    return kept
