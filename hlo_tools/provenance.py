"""Whether a value is only another form of a model parameter: converted, gathered, sliced, carried into a loop."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from .proto import ComputationProto, InstructionProto, ModuleProto

# What changes the form of an array and not its meaning; the array is the first operand.
_FORMS = frozenset(
    (
        *("bitcast", "convert", "copy", "copy-start", "copy-done", "dynamic-slice", "optimization-barrier", "reshape"),
        *("reduce-precision", "slice", "transpose", "all-gather", "all-gather-start", "all-gather-done"),
    )
)
_MAX_STEPS = 256


class Provenance:
    """Follows values of one module back to the entry's parameters whose numbers are in `numbers`."""

    def __init__(self, module: ModuleProto, numbers: Iterable[int]) -> None:
        self.module = module
        self.numbers = frozenset(numbers)

    @cached_property
    def _home(self) -> dict[int, ComputationProto]:
        """Instruction id -> its computation."""
        return {made.id: c for c in self.module.computations for made in c.instructions}

    @cached_property
    def _callers(self) -> dict[int, InstructionProto]:
        """Computation id -> an instruction that calls it."""
        return {i: made for c in self.module.computations for made in c.instructions for i in made.called_ids}

    def is_parameter(self, made: InstructionProto, shape_index: tuple[int, ...] = ()) -> bool:
        """Whether the value at a shape index holds nothing but elements of one model parameter."""
        at: InstructionProto | None = made
        index = list(shape_index)
        for _ in range(_MAX_STEPS):
            if at is None:
                return False
            opcode = at.opcode
            if opcode in _FORMS:
                at = self._operand(at, 0)
            elif opcode == "get-tuple-element":
                index.insert(0, at.tuple_index)
                at = self._operand(at, 0)
            elif opcode == "tuple" and index:
                at = self._operand(at, index.pop(0))
            elif opcode in ("fusion", "call") and at.called_ids:
                callee = self.module.computation_by_id.get(at.called_ids[0])
                at = self.module.instruction_by_id.get(callee.root_id) if callee else None
            elif opcode == "while" and index:
                at = self._operand(at, 0) if self._is_carried(at, index[0]) else None
            elif opcode == "parameter":
                home = self._home[at.id]
                if self.module.entry is not None and home.id == self.module.entry.id:
                    return at.parameter_number in self.numbers
                at = self._argument(home, at, index)
            else:
                return False
        return False

    def _operand(self, made: InstructionProto, position: int) -> InstructionProto | None:
        if position >= len(made.operand_ids):
            return None
        return self.module.instruction_by_id.get(made.operand_ids[position])

    def _argument(
        self, computation: ComputationProto, parameter: InstructionProto, index: list[int]
    ) -> InstructionProto | None:
        """What the caller gives for a parameter; for a loop only what every iteration sees unchanged."""
        caller = self._callers.get(computation.id)
        if caller is None:
            return None
        if caller.opcode == "while":
            return self._operand(caller, 0) if index and self._is_carried(caller, index[0]) else None
        return self._operand(caller, parameter.parameter_number) if caller.opcode in ("fusion", "call") else None

    def _is_carried(self, loop: InstructionProto, position: int) -> bool:
        """Whether the loop hands this element of its state through unchanged."""
        body = self.module.computation_by_id.get(loop.called_ids[0]) if loop.called_ids else None
        root = self.module.instruction_by_id.get(body.root_id) if body else None
        handed = self._operand(root, position) if root is not None and root.opcode == "tuple" else None
        if handed is None or handed.opcode != "get-tuple-element" or handed.tuple_index != position:
            return False
        source = self._operand(handed, 0)
        return source is not None and source.opcode == "parameter"
