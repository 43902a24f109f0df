"""What a temporary buffer is for: gradient, saved activation, collective buffer, layout copy, ...

The compiler records no purpose, so this is inference from the defining instruction: its opcode (through fusions), its
shape beside those of the parameters, how JAX's name stack marks forward, backward and recomputed operations, and how
long the buffer lives. What none of these tells is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..contracts.manifest import Frame
from .frames import user_frame
from .proto import InstructionProto, ModuleProto
from .scope import is_backward, is_forward, is_recomputed
from .shape import Shape

BufferClass = Literal[
    "parameter",
    "optimizer_slot",
    "input",
    "gradient",
    "activation_saved",
    "activation_temporary",
    "collective",
    "layout_copy",
    "padding",
    "kernel_scratch",
    "constant",
    "output",
    "unknown",
]

COLLECTIVES = (
    *("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "ragged-all-to-all"),
    *("collective-permute", "collective-broadcast", "send", "recv"),
)
_COPIES = frozenset(("copy", "copy-start", "copy-done"))
_TRANSPARENT = frozenset(("bitcast", "get-tuple-element", "copy-done", "async-done", "optimization-barrier"))
# These hand a value on: a slice of a stacked weight has a gradient's shape and is none.
_READS = frozenset(("dynamic-slice", "slice", "gather", "transpose", "reshape"))
_MAX_STEPS = 64


@dataclass(frozen=True, slots=True)
class Origin:
    """The instruction that stands for a buffer: what it does inside its fusions, and where it comes from."""

    opcode: str
    op_name: str
    source: str | None
    shape: Shape


class Attribution:
    """Answers for the buffers of one module.

    `positions` is the schedule (`heap.schedule_positions`); `parameter_shapes` are the local and global shapes of the
    parameters, from which gradients are known.
    """

    def __init__(
        self,
        module: ModuleProto,
        positions: dict[tuple[str, str], int],
        parameter_shapes: Iterable[tuple[int, ...]] = (),
    ) -> None:
        self.module = module
        self._gradient_shapes = set(_gradient_shapes(parameter_shapes))
        backward = [
            position
            for computation in module.computations
            for made in computation.instructions
            if made.op_name and is_backward(made.op_name)
            if (position := positions.get((computation.name, made.name))) is not None
        ]
        self._first_backward = min(backward, default=None)
        self._last_backward = max(backward, default=None)

    def origin(self, instruction_id: int, shape_index: tuple[int, ...] = ()) -> Origin | None:
        """Where the value at a shape index of an instruction comes from; None for an id the module does not hold."""
        made = self.module.instruction_by_id.get(instruction_id)
        if made is None:
            return None
        shape = self.module.shape(made)
        try:
            shape = shape.at(shape_index)
        except IndexError:
            shape = Shape("invalid")
        work = self._work(made, shape_index)
        op_name, frames = made.op_name or work.op_name, self.module.frames(made) or self.module.frames(work)
        if not op_name or not frames:
            near = self._nearby(made)
            op_name = op_name or next((other.op_name for other in near if other.op_name), "")
            frames = frames or next((found for other in near if (found := self.module.frames(other))), [])
        return Origin(_base_opcode(work.opcode), op_name, _source(frames), shape)

    def classify(self, origin: Origin | None, shape_index: tuple[int, ...], first: int, last: int) -> BufferClass:
        """The class of a temporary buffer that lives from schedule index `first` to `last`."""
        if origin is None:
            return "unknown"
        shape, opcode, op_name = origin.shape, origin.opcode, origin.op_name
        if shape.is_tuple:
            return "kernel_scratch"  # the table of pointers to a tuple's elements
        if opcode == "custom-call" and shape_index and shape.dtype in ("u8", "s8") and len(shape.dims) <= 1:
            return "kernel_scratch"
        if opcode in COLLECTIVES:
            return "collective"
        if opcode in _COPIES:
            return "layout_copy"
        if opcode == "constant":
            return "constant"
        if is_recomputed(op_name):
            return "activation_temporary"
        if is_backward(op_name):
            made_here = opcode not in _READS and self._like_parameter(shape)
            return "gradient" if made_here else "activation_temporary"
        if is_forward(op_name):
            crosses = self._first_backward is not None and first < self._first_backward <= last
            return "activation_saved" if crosses else "activation_temporary"
        if self._last_backward is not None and first > self._last_backward and self._like_parameter(shape):
            return "gradient"
        if opcode == "transpose" and not op_name.endswith("transpose"):
            return "layout_copy"
        return "activation_temporary" if op_name else "unknown"

    def _like_parameter(self, shape: Shape) -> bool:
        return _unordered(shape.dims) in self._gradient_shapes

    def _work(self, made: InstructionProto, shape_index: tuple[int, ...]) -> InstructionProto:
        """The instruction that computes a value: inside fusions and asynchronous wrappers, behind bitcasts."""
        index = list(shape_index)
        for _ in range(_MAX_STEPS):
            if made.opcode in ("fusion", "async-start", "call") and made.called_ids:
                callee = self.module.computation_by_id.get(made.called_ids[0])
                root = callee and self.module.instruction_by_id.get(callee.root_id)
                if not root:
                    return made
                made = root
            elif made.opcode == "tuple" and index and index[0] < len(made.operand_ids):
                made = self.module.instruction_by_id.get(made.operand_ids[index.pop(0)], made)
            elif made.opcode in _TRANSPARENT and made.operand_ids:
                if made.opcode == "get-tuple-element":
                    index.insert(0, made.tuple_index)
                made = self.module.instruction_by_id.get(made.operand_ids[0], made)
            else:
                return made
        return made

    def _nearby(self, made: InstructionProto) -> list[InstructionProto]:
        """Instructions whose metadata stand in for missing ones: the body of the fusion, then the operands."""
        near: list[InstructionProto] = []
        for callee_id in made.called_ids[:1]:
            callee = self.module.computation_by_id.get(callee_id)
            near += reversed(callee.instructions[-_MAX_STEPS:]) if callee else []
        operands = (self.module.instruction_by_id.get(i) for i in made.operand_ids[:_MAX_STEPS])
        return near + [operand for operand in operands if operand is not None and operand.opcode != "parameter"]


def _source(frames: list[Frame]) -> str | None:
    frame = user_frame(frames)
    return f"{frame.path}:{frame.line}" if frame else None


def _base_opcode(opcode: str) -> str:
    for ending in ("-start", "-done", "-update"):
        if opcode.endswith(ending) and opcode[: -len(ending)] in COLLECTIVES:
            return opcode[: -len(ending)]
    return opcode


def _unordered(dims: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(size for size in dims if size != 1))


def _gradient_shapes(parameter_shapes: Iterable[tuple[int, ...]]) -> Iterable[tuple[int, ...]]:
    """A gradient has its parameter's shape: in any order of dimensions, whole or without the scanned dimension."""
    for shape in parameter_shapes:
        whole = _unordered(shape)
        if whole:
            yield whole
        if len(shape) > 2:
            yield _unordered(shape[1:])
