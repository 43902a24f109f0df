"""Normalisations by their dataflow: a root of a row's sum of squares that scales the row.

    x -> x * x -> sum over the row -> rsqrt(... + epsilon) -> times x -> times a scale

One kernel reads `x` once and writes the result once. XLA mostly takes two: one for the sum, one for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..cost.traffic import Traffic
from ..flow import Flow, Value
from ..instruction import Instruction
from ..loops import Executions
from ..module import HloModule
from .hotspot import HotSpot
from .values import VIEWS, elements, has_product, kernel_of, touched

_ROOTS = frozenset(("rsqrt", "sqrt"))
_ROWWISE = frozenset((*VIEWS, "add", "multiply", "divide", "broadcast", "subtract", "maximum", "all-reduce"))
_BACK = frozenset((*VIEWS, "multiply", "subtract", "broadcast", "square"))
_ON = frozenset((*VIEWS, "multiply", "divide", "add", "broadcast"))
_MAX_STEPS = 64
# A row shorter than this is no feature dimension.
_LEAST_ROW = 16


def norms(module: HloModule, flow: Flow, runs: Executions, traffic: Traffic) -> Iterator[HotSpot]:
    """Every normalisation that takes more than one kernel."""
    seen: set[str] = set()
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode in _ROOTS:
                found = _hot_spot(flow.at(computation.instruction_at(position)), flow, runs, traffic)
                if found is not None and found.name not in seen:
                    seen.add(found.name)
                    yield found


def _hot_spot(root: Value, flow: Flow, runs: Executions, traffic: Traffic) -> HotSpot | None:
    reduction = _sum(root, flow)
    if reduction is None:
        return None
    size = reduction.instruction.operands[0].shape.elements
    # One root for all of an array is the norm of a gradient, not of its rows.
    if elements(root) < 2 or size < _LEAST_ROW * elements(root):
        return None
    squares = flow.operands(reduction)[0]
    behind = _behind(squares, size, flow)
    rows = _scaled(root, behind, size, flow) if _is_square(squares, flow) else []
    if not rows:
        return None
    members = [*behind, reduction, *rows]
    # A product reads the normalised row, whoever normalises it: nothing is saved there.
    found = [kernel for kernel in dict.fromkeys(kernel_of(value) for value in members) if not has_product(kernel)]
    kernels = sorted(found, key=lambda kernel: kernel.index)
    counts = {runs.of(kernel.computation).count for kernel in kernels}
    if len(kernels) < 2 or len(counts) > 1:
        return None
    (count,) = counts
    moved = sum(touched(kernel, size, traffic) for kernel in kernels)
    least = _least(kernels, size, traffic)
    if not count or moved <= least:
        return None
    return HotSpot.of(
        "norm",
        kernel_of(reduction),
        squares.instruction,
        kernels,
        [root.instruction, *kernels],
        count,
        moved,
        least,
        "one kernel keeps a row on the chip between its sum and its scaling",
    )


def _least(kernels: list[Instruction], size: int, traffic: Traffic) -> int:
    """Each array that comes in or goes out once; what one of the kernels hands to another does not count."""
    made = {id(kernel) for kernel in kernels}
    comes = dict.fromkeys(operand for kernel in kernels for operand in kernel.operands if id(operand) not in made)
    total = sum(traffic.size(leaf).device for each in comes for _, leaf in each.shape.leaves() if leaf.elements == size)
    for kernel in kernels:
        if kernel.is_root or any(id(user) not in made for user in kernel.users):
            total += sum(traffic.size(leaf).device for _, leaf in kernel.shape.leaves() if leaf.elements == size)
    return total


def _sum(root: Value, flow: Flow) -> Value | None:
    """The sum over rows that the root is taken of."""
    pending, seen = flow.operands(root), set[Value]()
    while pending and len(seen) < _MAX_STEPS:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        made = value.instruction
        if made.opcode == "reduce" and made.called and made.called[0].root.opcode == "add" and len(made.operands) == 2:
            return value
        if made.opcode in _ROWWISE:
            pending.extend(flow.operands(value))
    return None


def _is_square(value: Value, flow: Flow) -> bool:
    """Whether a value is the product of something with itself, converted or not."""
    for _ in range(_MAX_STEPS):
        if value.instruction.opcode == "multiply":
            left, right = flow.operands(value)
            return left == right or _base(left, flow) == _base(right, flow)
        if value.instruction.opcode not in VIEWS or not value.instruction.operands:
            return False
        value = flow.operands(value)[0]
    return False


def _base(value: Value, flow: Flow) -> Value:
    for _ in range(_MAX_STEPS):
        if value.instruction.opcode not in VIEWS or not value.instruction.operands:
            break
        value = flow.operands(value)[0]
    return value


def _behind(squares: Value, size: int, flow: Flow) -> list[Value]:
    """The values of this size from the row to its squares."""
    found, pending = dict[Value, None](), [squares]
    while pending and len(found) < _MAX_STEPS:
        value = pending.pop()
        if value in found or elements(value) != size or value.instruction.opcode not in _BACK:
            continue
        found[value] = None
        pending.extend(flow.operands(value))
    return list(found)


def _scaled(root: Value, behind: list[Value], size: int, flow: Flow) -> list[Value]:
    """The values of this size that come of multiplying the row with its root, with the scale behind it."""
    rows = {_base(value, flow) for value in behind}
    found, pending, seen = dict[Value, None](), [(root, False)], {root}
    while pending and len(seen) < _MAX_STEPS:
        value, scaled = pending.pop()
        for reader in flow.readers(value):
            user = reader.user
            if user is None or user in seen:
                continue
            opcode, wide = user.instruction.opcode, elements(user) == size
            if opcode not in _ON and not (opcode in _ROWWISE and not wide):
                continue
            if wide and opcode in ("multiply", "divide", "add"):
                wanted = _is_by_scale(user, reader.seen, flow) if scaled else _is_by_row(user, rows, flow)
                if not wanted:
                    continue
            seen.add(user)
            if wide:
                found[user] = None
            pending.append((user, scaled or (wide and opcode in ("multiply", "divide"))))
    return list(found)


def _is_by_row(user: Value, rows: set[Value], flow: Flow) -> bool:
    """Whether an operand is the row that the root was taken of; in the backward pass others are multiplied too."""
    return any(_base(maker, flow) in rows for maker in flow.operands(user))


def _is_by_scale(user: Value, seen: object, flow: Flow) -> bool:
    """Whether the other operand is a vector spread over all rows."""
    for operand, maker in zip(user.instruction.operands, flow.operands(user), strict=True):
        if operand is not seen:
            base = _base(maker, flow)
            return (
                base.instruction.opcode == "broadcast" and elements(base) > base.instruction.operands[0].shape.elements
            )
    return False
