"""Dimension numbers: each names a dimension that its array has, and none twice."""

from __future__ import annotations

import re
from functools import lru_cache

from ...contracts.errors import ContractLintError
from ..instruction import Instruction
from ..module import Computation
from ..text.attributes import integer
from .rows import Rows, read_by

RESULT = -1
# Attribute, and which operand's dimensions it numbers.
_DOT = (
    ("lhs_batch_dims", 0),
    ("lhs_contracting_dims", 0),
    ("rhs_batch_dims", 1),
    ("rhs_contracting_dims", 1),
)
_FIRST = (("dimensions", 0),)
NUMBERED: dict[str, tuple[tuple[str, int], ...]] = {
    "dot": _DOT,
    "broadcast": (("dimensions", RESULT),),
    "iota": (("iota_dimension", RESULT),),
    **dict.fromkeys(("transpose", "reduce", "reverse", "sort", "concatenate"), _FIRST),
    **dict.fromkeys(("all-gather", "all-gather-start", "all-to-all", "reduce-scatter"), _FIRST),
    **dict.fromkeys(("get-dimension-size", "set-dimension-size"), _FIRST),
}
_NUMBER = re.compile(r"-?\d+")
_PRINTED = re.compile(r", ([a-z_]+)=\{?([\d,]*)")


def require_dimensions(computation: Computation, rows: Rows | None) -> None:
    """Raises ContractLintError for a number that is no dimension of the array it speaks of, or is given twice."""
    opcodes = computation.opcodes()
    if NUMBERED.keys().isdisjoint(opcodes):
        return
    ranks: dict[str, int] = {}
    for position, opcode in enumerate(opcodes):
        if rows is not None:
            name, sizes, operands, _, numbers = rows.of[position]
            ranks[name] = sizes.count(",") + 1 if sizes else 0
            if opcode not in NUMBERED:
                continue
            if numbers:
                first, *rest = read_by(operands)
                second = ranks.get(rest[0], 0) if rest else 0
                if _fits(opcode, numbers, (ranks.get(first, 0), second, ranks[name])):
                    continue
        if opcode in NUMBERED:
            _require(computation.instruction_at(position))


@lru_cache(maxsize=4096)
def _fits(opcode: str, printed: str, ranks: tuple[int, int, int]) -> bool:
    """Whether all is well with numbers as compilers print them; `ranks` of two operands and of the result."""
    given = {key: [int(n[:9]) for n in numbers.split(",") if n] for key, numbers in _PRINTED.findall(printed)}
    seen: dict[int, list[int]] = {}
    for key, which in NUMBERED[opcode]:
        seen.setdefault(which, []).extend(given.get(key, ()))
    return all(
        max(numbers, default=-1) < ranks[which] and len(set(numbers)) == len(numbers) for which, numbers in seen.items()
    )


def _require(instruction: Instruction) -> None:
    attributes = instruction.attributes
    seen: dict[int, list[int]] = {}
    for key, which in NUMBERED[instruction.opcode]:
        numbers = [integer(number) for number in _NUMBER.findall(attributes.get(key, ""))]
        if not numbers:
            continue
        array = instruction
        if which != RESULT:
            if which >= len(instruction.operands):
                continue
            array = instruction.operands[which]
        if array.opcode == "undefined" or not array.has_shape or array.shape.is_tuple:
            continue
        rank = len(array.shape.dims)
        of = "its result" if array is instruction else repr(array.name)
        for number in numbers:
            if not 0 <= number < rank:
                has = f"{rank} dimension{'s' * (rank != 1)}"
                said = f"instruction {instruction.name!r}: {key} names dimension {number} of {of}, which has {has}"
                raise ContractLintError(said, instruction.location)
        known = seen.setdefault(which, [])
        known += numbers
        if len(set(known)) < len(known):
            said = f"instruction {instruction.name!r}: {key} names a dimension of {of} twice"
            raise ContractLintError(said, instruction.location)
