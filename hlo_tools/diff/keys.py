"""What an instruction is, apart from its names: opcode, shape and the attributes that change what it computes.

Keys of both programs come from one `Keys`, as small integers: equal keys, equal meaning.
"""

from __future__ import annotations

import re
from collections.abc import Hashable

from ...contracts.errors import ContractLintError
from ..instruction import Instruction
from ..module import Computation
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
# What a module read from a protobuf does not spell as the text does, or not at all.
_TEXT_ONLY = frozenset(
    (
        *("window", "type", "order", "offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim"),
        *("operand_batching_dims", "start_indices_batching_dims", "layout", "is_stable", "literal"),
        *("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "unique_indices"),
        *("input_batching_dims", "scatter_indices_batching_dims"),
    )
)
_CALLING = frozenset(CALLED_KEYS)
_LITERAL = frozenset(("parameter", "constant"))
_GROUPED = frozenset(("replica_groups", "source_target_pairs"))
_WHITE = re.compile(r"\s+")
_COMMUTES = frozenset(("add", "multiply", "and", "or", "xor", "maximum", "minimum"))
# The configuration of a library call says what it does; that of a callback names it, with a number of the process.
_CALLBACK = "callback"


class Keys:
    """Numbers for what is equal, shared by the programs that are compared."""

    __slots__ = ("_attributes", "_groups", "_ignored", "_layouts", "_mixed", "_numbers", "_own", "_shapes")

    def __init__(self, mixed: bool = False) -> None:
        """`mixed`: one program is text and the other a protobuf, so only what both spell is compared."""
        self._mixed = mixed
        self._ignored = _SAYS_NOTHING | _TEXT_ONLY if mixed else _SAYS_NOTHING
        self._numbers: dict[Hashable, int] = {}
        self._shapes: dict[int, tuple[Shape, str]] = {}
        self._layouts: dict[int, tuple[Shape, str]] = {}
        self._own: dict[int, tuple[Instruction, int]] = {}
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

    def layout(self, shape: Shape) -> str:
        """Layouts of all arrays of a shape, as printed; empty where none is."""
        known = self._layouts.get(id(shape))
        if known is None:
            text = ",".join(_layout(leaf) for _, leaf in shape.leaves()) if shape.parts else _layout(shape)
            known = self._layouts[id(shape)] = (shape, text)
        return known[1]

    def own(self, instruction: Instruction) -> int:
        """The number of opcode, shape and attributes that matter, without operands and called computations."""
        known = self._own.get(id(instruction))
        if known is None:
            opcode, shape = instruction.opcode, self.shape(instruction.shape)
            if opcode in _LITERAL:
                literal = instruction.operand_text.strip()
                number = self.number((opcode, shape, "" if self._mixed and opcode == "constant" else literal))
            else:
                number = self.number((opcode, shape, self._said(instruction)))
            known = self._own[id(instruction)] = (instruction, number)
        return known[1]

    def _said(self, instruction: Instruction) -> tuple[Hashable, ...]:
        said: list[Hashable] = []
        attributes = instruction.attributes
        if attributes.keys() <= self._ignored:
            return ()
        for key, value in attributes.items():
            if key in self._ignored or (key == "select" and instruction.opcode != "compare"):
                continue
            said.append((key, self._members(value) if key in _GROUPED else self._squeezed(value)))
        target = attributes.get("custom_call_target")
        if target is not None and _CALLBACK not in target and "backend_config" in attributes and not self._mixed:
            said.append(("backend_config", attributes["backend_config"]))
        if len(said) > 1:
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


def called_by(instruction: Instruction) -> tuple[Computation, ...]:
    """`instruction.called`, without a search where no attribute names a computation."""
    return () if _CALLING.isdisjoint(instruction.attributes) else instruction.called


def ordered(opcode: str, operands: tuple[int, ...]) -> tuple[int, ...]:
    """Operands in an order that does not matter where the operation commutes."""
    if opcode in _COMMUTES and len(operands) == 2 and operands[0] > operands[1]:
        return operands[1], operands[0]
    return operands


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


def _layout(shape: Shape) -> str:
    text = shape.text
    at = text.find("{")
    return "" if at < 0 else text[at:]
