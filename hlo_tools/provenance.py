"""Where a value comes from: what it is another form of - converted, gathered, sliced, copied, carried into a loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from .proto import ComputationProto, InstructionProto, ModuleProto

# What changes the form of an array and not its meaning; the array is the first operand.
_FORMS = frozenset(
    (
        *("bitcast", "convert", "copy", "copy-done", "dynamic-slice", "optimization-barrier", "reshape"),
        *("reduce-precision", "slice", "transpose", "all-gather", "all-gather-done", "async-done", "async-update"),
    )
)
# The first half of a pair gives a tuple, any element of which is (a form of) its operand.
_STARTS = frozenset(("copy-start", "all-gather-start"))
_GATHERS = frozenset(("all-gather", "all-gather-start"))
_JOINED = "ConcatBitcast"
"""TPU programs fetch one array in several slices at a time, and put them together again by this call."""
_FRAMES = frozenset(("fusion", "call"))
_RESULT = 1
"""Where in the tuple of an `async-start` its results are: ((operands), results, context...)."""
_MAX_STEPS = 256

Place = tuple[InstructionProto, tuple[int, ...]]
"""An instruction and the shape index of one of the arrays that it gives."""


class Provenance:
    """Follows values of one module back to what makes them; `numbers` are those of the entry's model parameters."""

    def __init__(self, module: ModuleProto, numbers: Iterable[int] = ()) -> None:
        self.module = module
        self.numbers = frozenset(numbers)
        self._known: dict[tuple[int, tuple[int, ...]], Place | None] = {}

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
        return self.argument(made, shape_index) in self.numbers

    def gathered_shapes(self) -> Iterator[tuple[int, ...]]:
        """The shapes in which all-gathers of model parameters return them, or what was sliced out of them before."""
        if not self.numbers:
            return
        for computation in self.module.computations:
            for made in computation.instructions:
                if made.opcode not in _GATHERS:
                    continue
                shape = self.module.shape(made)
                whole = shape.parts[-1] if made.opcode == "all-gather-start" and shape.is_tuple else shape
                results = whole.parts if whole.is_tuple else (whole,)
                for result, identity in zip(results, made.operand_ids, strict=False):
                    operand = self.module.instruction_by_id.get(identity)
                    if operand is not None and self.is_parameter(operand):
                        yield result.dims

    def argument(self, made: InstructionProto, shape_index: tuple[int, ...] = ()) -> int | None:
        """The number of the entry's parameter that the value is a form of; None for one that is computed."""
        source = self.source(made, shape_index)
        if source is None or source[0].opcode != "parameter":
            return None
        entry = self.module.entry
        return source[0].parameter_number if entry is not None and self._home[source[0].id].id == entry.id else None

    def source(self, made: InstructionProto, shape_index: tuple[int, ...] = ()) -> Place | None:
        """What computes the value at a shape index, or the parameter it comes in by.

        A loop is where a value ends that it does not hand through as it is. None for a program that is torn.
        """
        key = made.id, shape_index
        if key not in self._known:
            self._known[key] = self._followed(made, list(shape_index))
        return self._known[key]

    def _followed(self, made: InstructionProto, index: list[int]) -> Place | None:
        at: InstructionProto = made
        for _ in range(_MAX_STEPS):
            opcode, before = at.opcode, None
            if opcode in _FORMS or (opcode == "custom-call" and self.module.call_target(at) == _JOINED):
                before = self._operand(at, 0)
                if opcode == "async-done" and before is not None and before.opcode == "async-start":
                    index.insert(0, _RESULT)
            elif opcode in _STARTS:
                before = self._operand(at, index[1] if opcode != "copy-start" and len(index) > 1 else 0)
                index.clear()
            elif opcode == "get-tuple-element":
                index.insert(0, at.tuple_index)
                before = self._operand(at, 0)
            elif opcode == "tuple" and index:
                before = self._operand(at, index.pop(0))
            elif opcode in _FRAMES and at.called_ids:
                before = self._root(at)
            elif opcode == "async-start" and at.called_ids and index[:1] == [_RESULT]:
                index.pop(0)
                before = self._root(at)
            elif opcode == "async-start" and len(index) > 1 and index[0] == 0:
                before, index = self._operand(at, index[1]), index[2:]
            elif opcode == "while" and index and self._is_carried(at, index[0]):
                before = self._operand(at, 0)
            elif opcode == "parameter":
                before = self._argument(at, index)
            else:
                return at, tuple(index)
            if before is None:
                return at, tuple(index)
            at = before
        return None

    def _root(self, caller: InstructionProto) -> InstructionProto | None:
        callee = self.module.computation_by_id.get(caller.called_ids[0])
        return self.module.instruction_by_id.get(callee.root_id) if callee else None

    def _operand(self, made: InstructionProto, position: int) -> InstructionProto | None:
        if position >= len(made.operand_ids):
            return None
        return self.module.instruction_by_id.get(made.operand_ids[position])

    def _argument(self, parameter: InstructionProto, index: list[int]) -> InstructionProto | None:
        """What the caller gives for a parameter; for a loop only what every iteration sees unchanged."""
        caller = self._callers.get(self._home[parameter.id].id)
        if caller is None:
            return None
        if caller.opcode == "while":
            return self._operand(caller, 0) if index and self._is_carried(caller, index[0]) else None
        framed = caller.opcode in _FRAMES or caller.opcode == "async-start"
        return self._operand(caller, parameter.parameter_number) if framed else None

    def _is_carried(self, loop: InstructionProto, position: int) -> bool:
        """Whether the loop hands this element of its state through unchanged."""
        root = self._root(loop) if loop.called_ids else None
        handed = self._operand(root, position) if root is not None and root.opcode == "tuple" else None
        if handed is None or handed.opcode != "get-tuple-element" or handed.tuple_index != position:
            return False
        source = self._operand(handed, 0)
        return source is not None and source.opcode == "parameter"
