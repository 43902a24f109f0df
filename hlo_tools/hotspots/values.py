"""What patterns ask of one instruction: is it a product, elementwise, a view; how large; in which kernel."""

from __future__ import annotations

from collections.abc import Iterator

from ..cost.matrix import OPCODES, work
from ..cost.opcodes import ELEMENTWISE, PLUMBING, TRANSCENDENTAL
from ..cost.traffic import Traffic
from ..flow import Flow, Value
from ..instruction import Instruction
from ..shape import Shape

VIEWS = frozenset(
    ("bitcast", "copy", "reshape", "transpose", "convert", "reduce-precision", "copy-start", "opt-barrier")
)
POINTWISE = frozenset(
    (*ELEMENTWISE, *TRANSCENDENTAL, "broadcast", "copy", "reshape", "bitcast", "transpose", "pad", "slice")
)
_MAX_STEPS = 64


def elements(value: Value) -> int:
    shape = value.instruction.shape
    return 0 if shape.is_tuple else shape.elements


def is_product(instruction: Instruction) -> bool:
    """A matrix product, as an instruction or as a library call."""
    return instruction.opcode in OPCODES or (instruction.opcode == "custom-call" and work(instruction) is not None)


def kernel_of(value: Value) -> Instruction:
    """The instruction that runs it: the outermost frame around it but for calls, which run theirs, or itself."""
    kernel = value.instruction
    for frame in reversed(value.around):
        if frame.opcode == "call":
            break
        kernel = frame
    return kernel


def has_product(kernel: Instruction) -> bool:
    """Whether a kernel multiplies matrices, by itself or in what is fused into it."""
    if is_product(kernel):
        return True
    pending, seen = list(kernel.called), set[str]()
    while pending and len(seen) < _MAX_STEPS:
        computation = pending.pop()
        if computation.name in seen:
            continue
        seen.add(computation.name)
        opcodes = computation.opcodes()
        if not OPCODES.isdisjoint(opcodes):
            return True
        for position, opcode in enumerate(opcodes):
            if opcode == "fusion":
                pending.extend(computation.instruction_at(position).called)
    return False


def past_views(flow: Flow, value: Value) -> Value:
    """What makes a value, past what only moves or converts it."""
    value = flow.maker(value)
    for _ in range(_MAX_STEPS):
        if value.instruction.opcode not in VIEWS or not value.instruction.operands:
            break
        value = flow.operands(value)[0]
    return value


def leaves(shape: Shape) -> Iterator[Shape]:
    for _, leaf in shape.leaves():
        yield leaf


def touched(kernel: Instruction, size: int, traffic: Traffic) -> int:
    """Bytes of device memory that a kernel reads and writes of arrays of `size` elements."""
    if kernel.opcode in PLUMBING:
        return 0
    shapes = [leaf for operand in dict.fromkeys(kernel.operands) for leaf in leaves(operand.shape)]
    if not kernel.opcode.endswith("-start"):
        shapes += leaves(kernel.shape)
    return sum(traffic.size(shape).device for shape in shapes if shape.elements == size)
