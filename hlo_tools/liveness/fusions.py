"""Whether a fusion may write a part of its result over an operand that nothing reads later.

Each backend has its rule. A CPU's is that of hlo_dataflow_analysis: all that follows from the operand is made element
by element. A GPU's (gpu/alias_info) also allows other shapes of the same bytes, sums that are done first, and slices
that are read where they are written. TPU's is in no public source; what is here held on every program it was tried on.
"""

from __future__ import annotations

from collections.abc import Callable

from ..backend import Backend
from ..cost.opcodes import ELEMENTWISE, TRANSCENDENTAL
from ..instruction import Instruction
from ..shape import Shape
from .values import Index

_ELEMENTWISE = (ELEMENTWISE | TRANSCENDENTAL | {"copy", "map"}) - {"rng", "rng-bit-generator"}
_BEFORE_UPDATE = frozenset(("bitcast", "convert", "copy"))
_MAX_VISITED = 512


def is_elementwise(instruction: Instruction, operand: Instruction) -> bool:
    """Whether each element of the result is made of the same element of this operand."""
    if instruction.opcode == "dynamic-update-slice":
        return [number for number, each in enumerate(instruction.operands) if each is operand] == [0]
    return instruction.opcode in _ELEMENTWISE


def fusion_may(fusion: Instruction, index: Index, operand: Instruction, backend: Backend) -> bool:
    """Whether a fusion may write this part of its result over an operand, wherever it is given that operand."""
    if not fusion.called:
        return False
    root = fusion.called[0].root
    if index and root.opcode == "tuple" and index[0] >= len(root.operands):
        return False
    rule = _RULES[backend]
    numbers = {number for number, each in enumerate(fusion.operands) if each is operand}
    parameters = [each for each in fusion.called[0].parameters if each.parameter_number in numbers]
    return bool(parameters) and all(rule(fusion, parameter, index) for parameter in parameters)


def same_bytes(result: Shape, operand: Shape) -> bool:
    """Whether two arrays have as many elements of as many bits, in whatever order."""
    return result.elements == operand.elements and result.element_bits == operand.element_bits


def _cpu(fusion: Instruction, parameter: Instruction, index: Index) -> bool:
    del index
    kind, root = fusion.attributes.get("kind", ""), fusion.called[0].root
    if kind == "kOutput":
        return _added(parameter, root)
    if kind not in ("kLoop", "kInput"):
        return False
    return _following(parameter, lambda value, user: user.opcode == "tuple" or is_elementwise(user, value)) is not None


def _added(parameter: Instruction, root: Instruction) -> bool:
    """Whether a product is added to the parameter, which is read nowhere else."""
    products = [each.opcode in ("dot", "convolution") for each in root.operands]
    if root.opcode != "add" or not any(products) or len(parameter.users) != 1:
        return False
    return root.operands[1 if products[0] else 0] is parameter


def _gpu(fusion: Instruction, parameter: Instruction, index: Index) -> bool:
    root = fusion.called[0].root
    made = _part(root, index)
    written = made.operands[0] if made.opcode == "bitcast" and made.operands else made
    # The sums of a fusion are done before any other part of its result is written.
    first = "reduce" if fusion.attributes.get("kind") == "kInput" else ""
    seen = _following(
        parameter, lambda value, user: user.opcode == first or _in_step(user, value, written, index), first
    )
    if seen is None:
        return False
    others = [each for each in root.operands if id(each) in seen and each is not made] if root.opcode == "tuple" else []
    if others and (written.opcode not in _ELEMENTWISE or any(_turns(each) for each in (made, *others))):
        return False
    return id(made) in seen


def _in_step(user: Instruction, value: Instruction, written: Instruction, index: Index) -> bool:
    """Whether a GPU reads this value in the order in which it writes the result, or all of it before."""
    numbers = [number for number, each in enumerate(user.operands) if each is value]
    if user is written and len(numbers) == 1:
        if user.opcode == "scatter" and numbers[0] < max((len(user.operands) - 1) // 2, 1):
            return True
        if user.opcode == "sort":
            return index == (numbers[0],)
        if user.opcode == "dynamic-update-slice" and numbers[0] == 1:
            return True
    if written.opcode == "dynamic-update-slice" and user.opcode == "dynamic-slice" and _reads_updated(user, written):
        return True
    if user.opcode in ("bitcast", "tuple"):
        return True
    return user.opcode != "copy" and is_elementwise(user, value)


def _reads_updated(read: Instruction, update: Instruction) -> bool:
    """Whether what is read is the slice that is updated."""
    same = read.operands[0] is update.operands[0] and read.shape == update.operands[1].shape
    return same and (read.shape.elements == 1 or read.operands[1:] == update.operands[2:])


def _turns(root: Instruction) -> bool:
    while root.opcode == "bitcast" and root.operands:
        root = root.operands[0]
    return root.opcode in ("transpose", "copy")


def _tpu(fusion: Instruction, parameter: Instruction, index: Index) -> bool:
    root = fusion.called[0].root
    made = _part(root, index)
    while made.opcode == "bitcast" and made.operands:
        made = made.operands[0]
    if made.opcode in ("dynamic-update-slice", "scatter") and made.operands:
        updated = made.operands[0]
        while updated.opcode in _BEFORE_UPDATE and updated.operands:
            updated = updated.operands[0]
        if updated is parameter:
            return True
    count = parameter.shape.elements

    def fits(_: Instruction, user: Instruction) -> bool:
        if user is root and root.opcode == "tuple":
            return True
        return user.shape.elements == count and (user.opcode == "bitcast" or user.opcode in _ELEMENTWISE)

    return _following(parameter, fits) is not None


def _following(
    parameter: Instruction, fits: Callable[[Instruction, Instruction], bool], last: str = ""
) -> set[int] | None:
    """All that follows from a parameter, by `id`, up to opcode `last`; None where a use of a value does not fit."""
    pending, seen = [parameter], {id(parameter)}
    while pending:
        value = pending.pop()
        if value.opcode == last:
            continue
        for user in value.users:
            if not fits(value, user):
                return None
            if id(user) not in seen:
                seen.add(id(user))
                pending.append(user)
        if len(seen) > _MAX_VISITED:
            return None
    return seen


def _part(root: Instruction, index: Index) -> Instruction:
    return root.operands[index[0]] if index and root.opcode == "tuple" else root


_RULES = {"cpu": _cpu, "gpu": _gpu, "tpu": _tpu}
