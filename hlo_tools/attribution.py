"""What a temporary buffer is for: gradient, saved activation, collective buffer, layout copy, ...

The compiler records no purpose, so this is inference from the defining instruction: its opcode (through fusions), its
shape beside those of the parameters, how JAX's name stack marks forward, backward and recomputed operations, and how
long the buffer lives. What none of these tells is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..contracts.manifest import Frame
from .buffer_class import BufferClass
from .filled import Filling, filling
from .frames import user_frame
from .proto import InstructionProto, ModuleProto
from .provenance import Provenance
from .scope import is_backward, is_forward, is_recomputed
from .shape import Shape

COLLECTIVES = (
    *("all-gather", "all-reduce", "reduce-scatter", "all-to-all", "ragged-all-to-all"),
    *("collective-permute", "collective-broadcast", "send", "recv"),
)
_COPIES = frozenset(("copy", "copy-start", "copy-done"))
_TRANSPARENT = frozenset(("bitcast", "get-tuple-element", "copy-done", "async-done", "optimization-barrier"))
# These hand a value on: a slice of a stacked weight has a gradient's shape and is none.
_READS = frozenset(("dynamic-slice", "slice", "gather", "transpose", "reshape"))
# These bring values together or apart, which a collective's operands are made by.
_PACKS = _READS | {"concatenate", "pad"}
_MAX_STEPS = 64


@dataclass(frozen=True, slots=True)
class Origin:
    """The instruction that stands for a buffer: what it does inside its fusions, and where it comes from."""

    opcode: str
    op_name: str
    source: str | None
    shape: Shape
    instruction: InstructionProto


class Attribution:
    """Answers for the buffers of one module.

    `positions` is the schedule (`heap.schedule_positions`); `parameter_shapes` are the local and global shapes of the
    model's parameters, from which gradients are known, with those that parameters are gathered to;
    `parameter_numbers` are the numbers of the parameters among the entry's.
    """

    def __init__(
        self,
        module: ModuleProto,
        positions: dict[tuple[str, str], int],
        parameter_shapes: Iterable[tuple[int, ...]] = (),
        parameter_numbers: Iterable[int] = (),
    ) -> None:
        self.module = module
        self._provenance = Provenance(module, parameter_numbers)
        # Until it is summed and split, a gradient is as large as its parameter is where that is gathered.
        self._gradient_shapes = set(gradient_shapes((*parameter_shapes, *self._provenance.gathered_shapes())))
        self._users: dict[int, list[InstructionProto]] = {}
        self._fillings: dict[tuple[int, tuple[int, ...]], Filling | None] = {}
        backward = sorted(
            (
                (position, made)
                for computation in module.computations
                for made in computation.instructions
                if made.op_name and is_backward(made.op_name)
                if (position := positions.get((computation.name, made.name))) is not None
            ),
            key=lambda item: item[0],
        )
        # Memory for its results and the loss's own gradient may be made before the forward pass has run.
        self._first_backward = next((position for position, made in backward if self._computes(made)), None)
        # Values that a loop only hands through live as long as the loop: the backward pass ends with the entry's
        # instruction that holds its last operation.
        last = backward[-1][0] if backward else None
        entry = module.entry
        outer = [positions.get((entry.name, made.name), -1) for made in entry.instructions] if entry else []
        self._backward_end = None if last is None else min((at for at in outer if at >= last), default=last)

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
        filled = self.filling(made, shape_index)
        if filled is not None:
            made = work = filled.written
        op_name, frames = made.op_name or work.op_name, self.module.frames(made) or self.module.frames(work)
        for other in () if op_name and frames else self._nearby(made):
            op_name = op_name or other.op_name
            frames = frames or self.module.frames(other)
            if op_name and frames:
                break
        opcode = "dynamic-update-slice" if filled is not None else _base_opcode(work.opcode)
        if opcode in _COPIES:
            opcode = "copy" if self._changes_layout(work) else self._copied(work)
        return Origin(opcode, op_name, _source(frames), shape, made)

    def filling(self, made: InstructionProto, shape_index: tuple[int, ...] = ()) -> Filling | None:
        """How a loop fills the memory at a shape index of `made`; None for what is more than memory set aside."""
        if not self._is_set_aside(made, shape_index):
            return None
        key = made.id, shape_index
        if key not in self._fillings:
            self._fillings[key] = filling(self.module, made, self.users_of, shape_index)
        return self._fillings[key]

    def follows_weights(self, origin: Origin, shape_index: tuple[int, ...]) -> bool:
        """Whether a buffer is as large as the model's parameters make it, whatever the batch."""
        if self._provenance.is_parameter(origin.instruction, shape_index):
            return True
        return self._like_parameter(origin.shape) and not is_forward(origin.op_name)

    @property
    def backward(self) -> tuple[int, int] | None:
        """Schedule indices of the first operation of the backward pass and of its end; None where there is none."""
        if self._first_backward is None or self._backward_end is None:
            return None
        return self._first_backward, self._backward_end

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
        if opcode == "copy":
            return "layout_copy"
        if opcode == "constant":
            return "constant"
        if opcode in _PACKS and self._is_sent(origin.instruction):
            return "collective"
        if is_recomputed(op_name):
            return "activation_temporary"
        # A value shaped like a parameter that outlives the backward pass waits for the optimizer.
        moved = opcode == "transpose" and not op_name.endswith("transpose")
        if self._provenance.is_parameter(origin.instruction, shape_index):
            return "layout_copy" if moved else "activation_temporary"
        like_gradient = opcode not in _READS and self._like_parameter(shape)
        if like_gradient and self._backward_end is not None and last > self._backward_end:
            return "gradient"
        if is_backward(op_name):
            return "gradient" if like_gradient else "activation_temporary"
        if is_forward(op_name):
            crosses = bool(shape.dims) and self._first_backward is not None and first < self._first_backward <= last
            return "activation_saved" if crosses else "activation_temporary"
        if like_gradient and self._backward_end is not None:
            return "gradient"
        if moved:
            return "layout_copy"
        return "activation_temporary" if op_name or self._source_name(origin, shape_index) else "unknown"

    def _source_name(self, origin: Origin, shape_index: tuple[int, ...]) -> str:
        """The name of what makes the elements that a value without one only hands on, in a loop if need be."""
        source = self._provenance.source(origin.instruction, shape_index)
        for _ in range(_MAX_STEPS):
            if source is None:
                return ""
            made, index = source
            if made.opcode == "dynamic-update-slice" and not made.op_name and len(made.operand_ids) > 1:
                value = self.module.instruction_by_id.get(made.operand_ids[1])
            elif made.opcode == "while" and index:
                body = self.module.computation_by_id.get(made.called_ids[0]) if made.called_ids else None
                value = self.module.instruction_by_id.get(body.root_id) if body else None
                if value is not None and value.opcode == "tuple" and index[0] < len(value.operand_ids):
                    value, index = self.module.instruction_by_id.get(value.operand_ids[index[0]]), index[1:]
            else:
                return made.op_name
            source = self._provenance.source(value, index) if value is not None else None
        return ""

    def _is_sent(self, made: InstructionProto) -> bool:
        """Whether it is only packed to be sent: all that read it are collectives."""
        users = self.users_of(made)
        return bool(users) and all(_base_opcode(user.opcode) in COLLECTIVES for user in users)

    def _computes(self, made: InstructionProto) -> bool:
        """Whether it makes an array out of others: neither a scalar nor memory set aside."""
        shape = self.module.shape(made)
        return bool(shape.dims) and made.opcode not in ("constant", "iota") and not self._is_set_aside(made)

    def _is_set_aside(self, made: InstructionProto, shape_index: tuple[int, ...] = ()) -> bool:
        """Whether it computes nothing: memory without content, or filled with one value, or a copy of that."""
        at: InstructionProto | None = made
        for _ in range(_MAX_STEPS):
            if at is None:
                return False
            at, shape_index = self._work(at, shape_index), ()
            if at.opcode == "custom-call":
                return not at.operand_ids
            operand = self._operand(at)
            if at.opcode == "broadcast":
                return operand is not None and not self.module.shape(operand).dims
            if at.opcode not in _COPIES:
                return False
            at = operand
        return False

    def _like_parameter(self, shape: Shape) -> bool:
        return unordered(shape.dims) in self._gradient_shapes

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

    def _changes_layout(self, copy: InstructionProto) -> bool:
        """Whether a copy moves elements to another order, and is not only there to keep two values apart."""
        operand = self._operand(copy)
        if operand is None:
            return True
        before, after = self.module.shape(operand), self.module.shape(copy)
        if before.layout is None or after.layout is None or before.is_tuple or after.is_tuple:
            return False
        return before.layout.minor_to_major != after.layout.minor_to_major or before.layout.tiles != after.layout.tiles

    def _copied(self, copy: InstructionProto) -> str:
        """The opcode that made what a copy without change of layout holds."""
        made = copy
        for _ in range(_MAX_STEPS):
            operand = self._operand(made)
            if operand is None:
                break
            made = self._work(operand, ())
            if made.opcode not in _COPIES:
                break
        return _base_opcode(made.opcode)

    def _operand(self, made: InstructionProto) -> InstructionProto | None:
        return self.module.instruction_by_id.get(made.operand_ids[0]) if made.operand_ids else None

    def _nearby(self, made: InstructionProto) -> Iterator[InstructionProto]:
        """Instructions whose metadata stand in for missing ones: bodies of fusions, operands, operands of operands."""
        queue = [made]
        seen = {made.id}
        for at in queue:
            inner: list[InstructionProto] = []
            for callee_id in at.called_ids[:1]:
                callee = self.module.computation_by_id.get(callee_id)
                inner += reversed(callee.instructions[-_MAX_STEPS:]) if callee else []
            for other in inner:
                if other.opcode != "parameter":
                    yield other
            for identity in at.operand_ids[:_MAX_STEPS]:
                operand = self.module.instruction_by_id.get(identity)
                if operand is None or operand.id in seen or len(seen) > _MAX_STEPS:
                    continue
                seen.add(operand.id)
                if operand.opcode != "parameter":
                    yield operand
                    queue.append(operand)
        yield from self.users_of(made)

    def users_of(self, made: InstructionProto) -> list[InstructionProto]:
        """The instructions that have `made` as an operand."""
        if not self._users:
            for computation in self.module.computations:
                for user in computation.instructions:
                    for identity in user.operand_ids:
                        self._users.setdefault(identity, []).append(user)
        return self._users.get(made.id, [])


def _source(frames: list[Frame]) -> str | None:
    frame = user_frame(frames)
    return f"{frame.path}:{frame.line}" if frame else None


def _base_opcode(opcode: str) -> str:
    for ending in ("-start", "-done", "-update"):
        if opcode.endswith(ending) and opcode[: -len(ending)] in COLLECTIVES:
            return opcode[: -len(ending)]
    return opcode


def unordered(dims: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(size for size in dims if size != 1))


def gradient_shapes(parameter_shapes: Iterable[tuple[int, ...]]) -> Iterable[tuple[int, ...]]:
    """A gradient has its parameter's shape: in any order of dimensions, whole or without the scanned dimension."""
    for shape in parameter_shapes:
        whole = unordered(shape)
        if whole:
            yield whole
        if len(shape) > 2:
            yield unordered(shape[1:])
