"""What an instruction is, apart from its names: opcode, shape and the attributes that change what it computes.

Keys of both programs come from one `Keys`, as small integers: equal keys, equal meaning.
"""

from __future__ import annotations

import re
from collections.abc import Hashable

from ...contracts.errors import ContractLintError
from ..instruction import Instruction
from ..replica_groups import parse_groups
from ..shape import Shape
from ..text.attributes import CALLED_KEYS

# Names, places, hints to the backend, and what other facts of a diff say: trip counts, placements, schedules.
_SAYS_NOTHING = frozenset(
    (
        *("metadata", "channel_id", "backend_config", "frontend_attributes", "origin", "statistics", "sharding"),
        *("control-predecessors", "cross_program_prefetch_index", "schedule", "is_stable", "kind", "original_value"),
        *("operand_precision", "use_global_device_ids", "indices_are_sorted", "operand_layout_constraints"),
        *(key for key in CALLED_KEYS if key != "select"),
    )
)
_GROUPED = frozenset(("replica_groups", "source_target_pairs"))
_WHITE = re.compile(r"\s+")
_COMMUTES = frozenset(("add", "multiply", "and", "or", "xor", "maximum", "minimum"))
# Fields of a kernel's configuration that a library call is told by; everything else in it is a choice of the backend.
_CALLBACK = "callback"


class Keys:
    """Numbers for what is equal, shared by the programs that are compared."""

    __slots__ = ("_attributes", "_groups", "_numbers", "_shapes")

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._shapes: dict[int, tuple[Shape, str]] = {}
        self._groups: dict[str, Hashable] = {}
        self._attributes: dict[str, str] = {}

    def number(self, key: Hashable) -> int:
        """The number of a key; a new one for a key not seen before."""
        return self._numbers.setdefault(key, len(self._numbers))

    def shape(self, shape: Shape) -> str:
        """Types and sizes without layouts: `f32[4,8]`, `(f32[4],s32[])`."""
        known = self._shapes.get(id(shape))
        if known is None:
            known = self._shapes[id(shape)] = (shape, _plain(shape))
        return known[1]

    def own(self, instruction: Instruction) -> tuple[Hashable, ...]:
        """(opcode, shape, attributes that matter), without operands and called computations."""
        opcode = instruction.opcode
        shape = self.shape(instruction.shape)
        if opcode in ("parameter", "constant"):
            return opcode, shape, instruction.operand_text.strip()
        return opcode, shape, *self._said(instruction)

    def _said(self, instruction: Instruction) -> tuple[Hashable, ...]:
        said: list[Hashable] = []
        attributes = instruction.attributes
        for key, value in attributes.items():
            if key in _SAYS_NOTHING or (key == "select" and instruction.opcode != "compare"):
                continue
            said.append((key, self._members(value) if key in _GROUPED else self._squeezed(value)))
        target = attributes.get("custom_call_target")
        if target is not None and _CALLBACK not in target and "backend_config" in attributes:
            said.append(("backend_config", attributes["backend_config"]))
        said.sort(key=lambda item: item[0])  # type: ignore[index, return-value]
        return tuple(said)

    def _members(self, text: str) -> Hashable:
        """Groups in whatever spelling as the devices they hold."""
        known = self._groups.get(text)
        if known is None:
            try:
                known = self.number(("groups", parse_groups(text)))
            except ContractLintError:
                known = text
            self._groups[text] = known
        return known

    def _squeezed(self, value: str) -> str:
        known = self._attributes.get(value)
        if known is None:
            known = self._attributes[value] = _WHITE.sub("", value)
        return known


def ordered(opcode: str, operands: tuple[int, ...]) -> tuple[int, ...]:
    """Operands in an order that does not matter where the operation commutes."""
    if opcode in _COMMUTES and len(operands) == 2 and operands[0] > operands[1]:
        return operands[1], operands[0]
    return operands


def layout_of(shape: Shape) -> str:
    """Layouts of all arrays of a shape, as printed; empty where none is."""
    if not shape.parts:
        return _layout(shape)
    return ",".join(_layout(leaf) for _, leaf in shape.leaves())


def _layout(shape: Shape) -> str:
    text = shape.text
    at = text.find("{")
    return "" if at < 0 else text[at:]


def _plain(shape: Shape) -> str:
    if shape.is_tuple:
        return f"({','.join(_array(leaf) for _, leaf in shape.leaves())})"
    return _array(shape)


def _array(shape: Shape) -> str:
    if shape.dtype in ("token", "opaque"):
        return shape.dtype
    flags = shape.dynamic or (False,) * len(shape.dims)
    sizes = ("?" if d < 0 else f"<={d}" if f else str(d) for d, f in zip(shape.dims, flags, strict=True))
    return f"{shape.dtype}[{','.join(sizes)}]"
