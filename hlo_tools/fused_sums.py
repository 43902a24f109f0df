"""Sums that a fusion also slices: TPU's reduce-scatter.

    %all-reduce-scatter = { all-reduce, partition-id, dynamic-slice }        called by a fusion of kind kCustom

Inside one slice libtpu never prints `reduce-scatter`; a fusion that sums and keeps a slice is how it runs one.
"""

from __future__ import annotations

from dataclasses import replace

from .flow import Flow
from .instruction import Instruction
from .module import HloModule
from .only_sliced import is_only_sliced
from .replica_groups import Groups
from .taken import SLICES
from .transfers import Transfer


class FusedSums:
    """Looks into the fusions of one module, once and only where a sum is sliced."""

    def __init__(self, module: HloModule) -> None:
        self._module = module
        self._flow = Flow(module)
        self._fused: frozenset[str] | None = None

    def scattered(self, instruction: Instruction, moved: Transfer, groups: Groups, size: int) -> Transfer:
        """The transfer itself, or that of a reduce-scatter for a sum which its own fusion slices."""
        if moved.kind != "all-reduce" or size < 2 or instruction.computation is self._module.entry:
            return moved
        if SLICES.isdisjoint(instruction.computation.opcodes()):
            return moved
        # Asked first: following a value through the body of a loop takes far longer than a look at all fusions.
        if self._fused is None:
            self._fused = fused_computations(self._module)
        if instruction.computation.name not in self._fused:
            return moved
        numbers = range(len(moved.parts)) if len(moved.parts) > 1 else [None]
        if not all(is_only_sliced(self._flow, instruction, groups, size, number, inside=True) for number in numbers):
            return moved
        parts = tuple(replace(part, result_bytes=part.result_bytes // size) for part in moved.parts)
        return replace(moved, kind="reduce-scatter", parts=parts, ratio=size)


def fused_computations(module: HloModule) -> frozenset[str]:
    """The names of the computations that a fusion calls."""
    return frozenset(
        callee.name
        for computation in module.computations
        for position, opcode in enumerate(computation.opcodes())
        if opcode == "fusion"
        for callee in computation.instruction_at(position).called
    )
