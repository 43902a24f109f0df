"""The arguments of a bare program, as far as it names them: JAX writes `state['params']['wq']` on entry parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..contracts.errors import ContractLintError
from ..contracts.manifest import Leaf
from .assignment import BufferAssignment
from .module import HloModule
from .proto import ModuleProto
from .shape import Shape, numpy_dtype, scan_shape
from .tile_groups import tiles

_HEAD = re.compile(r"[A-Za-z_]\w*")
_STEP = re.compile(r"\[\\?'([^'\]\\]*)\\?'\]|\[\"([^\"\]]*)\"\]|\[(?:<flat index )?(\w+)>?\]|\.(\w+)")
_LONGEST = 4096
_COUNTABLE = 2**63
"""XLA counts elements and bytes in signed numbers of 64 bits."""


def argument_path(op_name: str) -> tuple[str, str]:
    """`opt[1][0].mu['layers']['w1']` -> (`opt`, `1/0/mu/layers/w1`); a name of another form is the argument itself."""
    name = op_name[:_LONGEST]
    head = _HEAD.match(name)
    if head is None:
        return name, ""
    at, steps = head.end(), []
    while (match := _STEP.match(name, at)) is not None:
        steps.append(next(group for group in match.groups() if group is not None))
        at = match.end()
    if at != len(name):
        return name, ""
    if len(steps) > 1 and steps[-1] in ("value", "raw_value"):
        steps.pop()
    return head[0], "/".join(steps)


def entry_arguments(
    module: ModuleProto, assignment: BufferAssignment, placements: Mapping[str, str] | None = None
) -> list[Leaf]:
    """The entry parameters as argument leaves.

    `placements` are those the program prints, by the name of the parameter: they give the shape over all devices. An
    argument without one has one device's shape as the only shape there is. An argument counts as donated if any of its
    arrays is aliased with an output. Raises ContractLintError for one that is larger than XLA can count.
    """
    whole = (a for a in assignment.allocations if a.is_entry_parameter and not a.parameter_shape_index)
    sizes = {allocation.parameter_number: allocation for allocation in whole}
    aliased = {number for number, allocation in sizes.items() if allocation.aliased_with_output}
    entry = module.entry
    found: list[tuple[int, str, str, Shape]] = []
    whole_of: dict[int, tuple[int, ...]] = {}
    for made in entry.instructions if entry else ():
        if made.opcode == "parameter":
            shape = module.shape(made)
            if not shape.is_tuple:
                found.append((made.parameter_number, *argument_path(made.op_name or made.name), shape))
                whole_of[made.parameter_number] = _whole(shape, (placements or {}).get(made.name, ""))
    unnumbered = next((name for number, name, _, _ in found if number < 0), None)
    if unnumbered is not None:
        raise ContractLintError(f"parameter {unnumbered!r} has a number below 0")
    bytes_of = {number: sizes[number].size if number in sizes else shape.bytes for number, _, _, shape in found}
    for number, argument, path, shape in found:
        if max(bytes_of[number], *shape.dims, 0) >= _COUNTABLE:
            name = "/".join(part for part in (argument, path) if part)
            raise ContractLintError(
                f"argument {number} ({name}) of {bytes_of[number]:,} bytes is more than XLA can count: "
                f"{shape.text[:60]}"
            )
    donated = {argument for number, argument, _, _ in found if number in aliased}
    return [
        Leaf(
            argument=argument,
            path=path,
            shape=list(whole_of[number]),
            dtype=numpy_dtype(shape.dtype),
            local_shape=list(shape.dims),
            bytes=bytes_of[number],
            donated=argument in donated,
            aliased=number in aliased,
            parameter=number,
        )
        for number, argument, path, shape in sorted(found, key=lambda item: item[0])
    ]


def _whole(shape: Shape, placement: str) -> tuple[int, ...]:
    """The shape over all devices of one device's part of an array."""
    split = tiles(placement, len(shape.dims)) if placement else None
    whole = tuple(size * parts for size, parts in zip(shape.dims, split, strict=True)) if split else shape.dims
    return whole if max(whole, default=0) < _COUNTABLE else shape.dims


def placements_of(module: HloModule) -> dict[str, str]:
    """The placements that the program prints on the parameters of its entry, by their names."""
    found = ((made.name, made.attributes.get("sharding", "")) for made in module.entry.parameters)
    return {name: placement for name, placement in found if placement}


def argument_spaces(module: HloModule) -> dict[int, int]:
    """Memory space of each array argument by parameter number, as the layout of the entry says.

    The parameter instructions themselves leave it out on some platforms. Empty where the module prints no such layout.
    """
    layout = module.attributes.get("entry_computation_layout", "")
    if not layout.startswith("{("):
        return {}
    arguments, _ = scan_shape(layout, 1)
    return {number: shape.memory_space for number, shape in enumerate(arguments.parts) if not shape.is_tuple}
