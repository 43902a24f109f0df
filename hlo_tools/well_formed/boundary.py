"""What goes in and out: parameters are numbered from 0 on, aliases name parts of arguments and results there are."""

from __future__ import annotations

import re

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ..liveness.in_place import aliases
from ..module import Computation, HloModule, Instruction
from ..shape import Shape
from .rows import Rows

_DONOR = re.compile(r"\(\s*(\d{1,9})\s*,\s*\{([\d, ]*)\}")


def require_numbers(computation: Computation, rows: Rows | None) -> None:
    """Raises ContractLintError for a parameter whose number another has, or that leaves one out below it."""
    places = [position for position, opcode in enumerate(computation.opcodes()) if opcode == "parameter"]
    if rows is not None and {rows.of[place][2] for place in places} == set(map(str, range(len(places)))):
        return
    found = computation.parameters
    taken: dict[int, Instruction] = {}
    for made in found:
        number = made.parameter_number
        if number is None or number < 0:
            said = f"instruction {made.name!r} is no parameter: it has no number"
            raise ContractLintError(said, made.location, "write parameter(0)")
        if number in taken:
            said = f"parameter {number} of computation {computation.name!r} is given twice: {taken[number].name!r} and"
            raise ContractLintError(f"{said} {made.name!r}", made.location)
        taken[number] = made
    for number, made in sorted(taken.items()):
        if number >= len(found) and computation.name != "fragment":
            said = f"computation {computation.name!r} has parameter {number}, and only {len(found)} of them"
            raise ContractLintError(said, made.location)


def require_aliases(module: HloModule) -> None:
    """Raises ContractLintError where results share the memory of, or buffers are donated from, what is not there."""
    said, donors = (module.attributes.get(key, "") for key in ("input_output_alias", "buffer_donor"))
    if not said and not donors:
        return
    root = module.entry.root
    arguments = {made.parameter_number: made for made in module.entry.parameters}
    named: list[tuple[str, int, tuple[int, ...]]] = []
    for output, number, index in aliases(said):
        if root.has_shape and not _has(root.shape, output):
            raise _error(module, f"input_output_alias names result {_braces(output)}", root)
        named.append(("input_output_alias", number, index))
    for number, index in _DONOR.findall(donors):
        named.append(("buffer_donor", int(number), tuple(int(n) for n in index.split(",") if n.strip())))
    for key, number, index in named:
        made = arguments.get(number)
        if made is None:
            raise ContractLintError(f"{key} names parameter {number}, the entry has {len(arguments)}", _header(module))
        if not _has(made.shape, index):
            raise _error(module, f"{key} names {_braces(index)} of parameter {number}", made)


def _header(module: HloModule) -> Location:
    """A module that was read from text begins behind one newline more than what was given."""
    return module.location(1)


def _error(module: HloModule, said: str, made: Instruction) -> ContractLintError:
    return ContractLintError(f"{said}, which is {made.shape.text[:80]}", _header(module))


def _has(shape: Shape, index: tuple[int, ...]) -> bool:
    for step in index:
        if not 0 <= step < len(shape.parts):
            return False
        shape = shape.parts[step]
    return True


def _braces(index: tuple[int, ...]) -> str:
    return "{" + ",".join(map(str, index)) + "}"
