"""Collectives that are issued twice for one value, by value numbering through layout-only instructions."""

from __future__ import annotations

from collections.abc import Iterable

from ...hlo_tools.module import Computation, HloModule, Instruction

_KINDS = ("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "collective-permute")
COLLECTIVES = frozenset((*_KINDS, *(f"{kind}-start" for kind in _KINDS)))
TRANSPARENT = frozenset({"copy", "bitcast", "convert", "reshape", "transpose"})
IDENTITY_ATTRIBUTES = ("replica_groups", "source_target_pairs", "dimensions", "split_dimension")


def duplicates(module: HloModule) -> Iterable[tuple[str, str, str]]:
    """(first, again, computation): names of two collectives of one computation that yield the same value."""
    for computation in module.computations:
        yield from _in_computation(computation)


def _in_computation(computation: Computation) -> Iterable[tuple[str, str, str]]:
    if sum(opcode in COLLECTIVES for opcode in computation.opcodes()) < 2:
        return
    numbers: dict[str, object] = {}
    seen: dict[object, str] = {}
    for instruction in computation.instructions:
        if instruction.opcode in TRANSPARENT:
            numbers[instruction.name] = (
                instruction.opcode,
                str(instruction.shape),
                _operand_numbers(instruction, numbers),
            )
            numbers[instruction.name] = _intern(numbers[instruction.name], seen, instruction.name)
        elif instruction.opcode in COLLECTIVES:
            attributes = tuple(instruction.attributes.get(name) for name in IDENTITY_ATTRIBUTES)
            value = (instruction.opcode, str(instruction.shape), attributes, _operand_numbers(instruction, numbers))
            if value in seen:
                yield seen[value], instruction.name, computation.name
            numbers[instruction.name] = _intern(value, seen, instruction.name)


def _operand_numbers(instruction: Instruction, numbers: dict[str, object]) -> tuple[object, ...]:
    return tuple(numbers.get(operand.name, operand.name) for operand in instruction.operands)


def _intern(value: object, seen: dict[object, str], name: str) -> str:
    """The name of the first instruction with this value: keeps value numbers small, so hashing stays linear."""
    return seen.setdefault(value, name)
