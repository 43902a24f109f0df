"""What one execution of a collective moves: elements, operand, result and ring bytes per device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from .instruction import Instruction
from .shape import Shape
from .slices import crosses_slices
from .text.attributes import integer

_BASE = (
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
)
# Opcode -> kind of a row. `-done` and `-update` belong to their start; `recv` to its `send`.
KINDS: dict[str, str] = {op: op for op in _BASE} | {f"{op}-start": op for op in _BASE} | {"send": "send-recv"}


@dataclass(frozen=True, slots=True)
class Part:
    """One array of a collective, for one execution."""

    elements: int
    dtype: str
    operand_bytes: int
    result_bytes: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """One execution on one device. `size` is the number of devices in a group."""

    kind: str
    parts: tuple[Part, ...]
    ratio: int = 0
    """Result over operand size of an all-gather, operand over result size of a reduce-scatter: the group's size."""
    size: int = 1

    @property
    def elements(self) -> int:
        return sum(part.elements for part in self.parts)

    @property
    def operand_bytes(self) -> int:
        return sum(part.operand_bytes for part in self.parts)

    @property
    def result_bytes(self) -> int:
        return sum(part.result_bytes for part in self.parts)

    @property
    def dtype(self) -> str:
        """The primitive type; several joined by `+` where a combined collective carries several."""
        return "+".join(dict.fromkeys(part.dtype for part in self.parts))

    @property
    def ring_bytes(self) -> Fraction:
        """Bytes one device sends over a ring in one execution, not rounded.

        S = whole array, n = group size: all-gather, reduce-scatter and all-to-all S(n-1)/n, all-reduce 2S(n-1)/n,
        permute, broadcast and send S (bandwidth-optimal ring; the factors of NCCL's performance notes).
        """
        n = max(self.size, 1)
        if self.kind in ("collective-permute", "collective-broadcast", "send-recv"):
            return Fraction(self.operand_bytes if n > 1 else 0)
        whole = self.result_bytes if self.kind == "all-gather" else self.operand_bytes
        return Fraction((2 if self.kind == "all-reduce" else 1) * whole * (n - 1), n)

    def over(self, size: int) -> Transfer:
        return replace(self, size=size)


def nearest(value: Fraction) -> int:
    """The nearest whole number, halves up."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def transfer(instruction: Instruction) -> Transfer | None:
    """What the collective moves; None for a transfer between device and host, which is no collective."""
    kind = KINDS[instruction.opcode]
    if instruction.opcode == "send":
        if instruction.attributes.get("is_host_transfer") == "true" and not crosses_slices(instruction):
            return None
        return Transfer(kind, _parts(kind, _leaves(instruction.operands[:1]), []))
    operands = _leaves(_data_operands(kind, instruction))
    results = _results(instruction, operands)
    slices = instruction.attributes.get("slice_sizes")
    if kind == "collective-permute" and slices and len(operands) == 1:
        sizes = [integer(n) for n in slices.replace("{", " ").replace("}", " ").replace(",", " ").split()]
        moved = Shape(operands[0].dtype, (prod(sizes),))
        return Transfer(kind, _parts(kind, [moved], [moved]))
    ratio = 0
    if kind in ("all-gather", "reduce-scatter") and operands and results:
        whole, shard = (results, operands) if kind == "all-gather" else (operands, results)
        if shard[0].elements and not whole[0].elements % shard[0].elements:
            ratio = whole[0].elements // shard[0].elements
    return Transfer(kind, _parts(kind, operands, results), ratio)


def is_asynchronous(instruction: Instruction) -> bool:
    """True for a start whose done comes later; a start the backend runs synchronously (`is_sync`) is not."""
    if not instruction.opcode.endswith("-start") and instruction.opcode != "send":
        return False
    config = instruction.backend_config
    if isinstance(config, dict):
        inner = config.get("collective_backend_config")
        if isinstance(inner, dict) and inner.get("is_sync") is True:
            return False
    return True


def _data_operands(kind: str, instruction: Instruction) -> Sequence[Instruction]:
    """Operands that carry data: a ragged all-to-all's and an in-place permute's other operands are places and sizes."""
    operands = instruction.operands
    if kind == "ragged-all-to-all":
        return operands[:1]
    if kind == "collective-permute" and len(operands) == 4 and "slice_sizes" in instruction.attributes:
        return operands[:1]
    return operands


def _leaves(operands: Sequence[Instruction]) -> list[Shape]:
    return [leaf for operand in operands for _, leaf in operand.shape.leaves()]


def _results(instruction: Instruction, operands: list[Shape]) -> list[Shape]:
    """The arrays a collective gives back.

    A start prints ((operands), results, contexts...) or (operand, result, u32[] contexts) or, for an all-reduce of
    jax 0.10 and older, the results alone: told apart by nesting and by the number of operands.
    """
    shape = instruction.shape
    leaves = [leaf for _, leaf in shape.leaves()]
    if not instruction.opcode.endswith("-start"):
        return leaves
    count = len(operands)
    if shape.is_tuple and shape.parts:
        if shape.parts[0].is_tuple and len(shape.parts) > 1:
            return [leaf for _, leaf in shape.parts[1].leaves()]
        if instruction.opcode != "all-reduce-start" and len(leaves) >= 2 * count:
            return leaves[count : 2 * count]
        if instruction.opcode == "all-reduce-start" and len(leaves) == 2 * count:
            return leaves[count:]
    return leaves


def _parts(kind: str, operands: list[Shape], results: list[Shape]) -> tuple[Part, ...]:
    parts = []
    paired = len(results) == len(operands)
    for position, operand in enumerate(operands):
        result = results[position] if paired else None
        whole = result if kind == "all-gather" and result else operand
        parts.append(Part(whole.elements, operand.dtype, operand.bytes, result.bytes if result else 0))
    if not paired and results and parts:
        spare = sum(result.bytes for result in results)
        parts[0] = replace(parts[0], result_bytes=spare)
        if kind == "all-gather":
            parts[0] = replace(parts[0], elements=sum(result.elements for result in results))
    return tuple(parts)
