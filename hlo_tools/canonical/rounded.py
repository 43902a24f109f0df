"""Whether a value is only ever read as bfloat16.

all-gather -> (moves) -> dot or convolution at default precision, or convert to bfloat16
"""

from __future__ import annotations

from ..instruction import Instruction
from .provenance import MOVES

_PRODUCTS = frozenset(("dot", "convolution"))
_MAX_SEEN = 64


def is_rounded(instruction: Instruction) -> bool:
    """Whether every reader rounds this value to bfloat16, moves aside; False where nothing reads it."""
    pending, seen, rounding = [instruction], {id(instruction)}, False
    while pending:
        value = pending.pop()
        if value.is_root or len(seen) > _MAX_SEEN:
            return False
        for user in value.users:
            if user.opcode in _PRODUCTS:
                if not _default_precision(user):
                    return False
                rounding = True
            elif user.opcode == "convert":
                if user.shape.dtype != "bf16":
                    return False
                rounding = True
            elif user.opcode not in MOVES:
                return False
            elif id(user) not in seen:
                seen.add(id(user))
                pending.append(user)
    return rounding


def _default_precision(product: Instruction) -> bool:
    """A precision of either operand, or an algorithm, says what the product reads; default is one bfloat16 pass."""
    asked = product.attributes.get("operand_precision", "").strip("{}")
    return "algorithm" not in product.attributes and all(each.strip() in ("", "default") for each in asked.split(","))
