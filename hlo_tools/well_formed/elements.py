"""Elements of tuples: what a get-tuple-element takes is there."""

from __future__ import annotations

import re

from ...contracts.errors import ContractLintError
from ..instruction import Instruction
from ..module import Computation

# The operand as compilers print it, and the element.
_TAKEN = re.compile(r" get-tuple-element\((?:[^%\n]{0,4000}+(?<= ))?+%([A-Za-z0-9_.\-]+)\), index=(\d{1,9})")


def require_elements(computation: Computation) -> None:
    """Raises ContractLintError for an element that its tuple does not have, and for one of what is no tuple."""
    takes = [place for place, opcode in enumerate(computation.opcodes()) if opcode == "get-tuple-element"]
    if takes and not _all_there(computation, len(takes)):
        for position in takes:
            _require_element(computation.instruction_at(position))


def _all_there(computation: Computation, count: int) -> bool:
    """True where all is well by what compilers print; False says nothing."""
    printed = computation.printed
    if printed is None:
        return False
    found = _TAKEN.findall(computation.module.text, *printed.extent())
    if len(found) != count:
        return False
    last: dict[str, int] = {}
    for name, index in found:
        last[name] = max(last.get(name, 0), int(index))
    for name, index in last.items():
        operand = computation.find(name)
        if operand is None or not operand.has_shape or len(operand.shape.parts) <= index:
            return False
    return True


def _require_element(instruction: Instruction) -> None:
    operand = instruction.operands[0] if instruction.operands else None
    if operand is None or operand.opcode == "undefined" or not operand.has_shape:
        return
    index, shape = instruction.tuple_index, operand.shape
    if index is None:
        said = f"instruction {instruction.name!r} does not say which element it takes"
        raise ContractLintError(said, instruction.location, "write index=0")
    if not shape.is_tuple or index >= len(shape.parts):
        has = f"has {len(shape.parts)}, numbered from 0" if shape.is_tuple else "is no tuple"
        said = f"instruction {instruction.name!r} takes element {index} of {operand.name!r}, which {has}"
        raise ContractLintError(said, instruction.location)
