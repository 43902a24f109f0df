"""Which narrower type a value is only ever read as.

    all-gather -> (moves) -> convert to a narrower type, or dot or convolution at default precision (bfloat16 on a TPU)

Moving a value, taking parts of it, repeating it and filling it up change no element, so that it makes no difference
whether they are converted before or after.
"""

from __future__ import annotations

from ..instruction import Instruction
from ..shape import BITS
from .provenance import MOVES

_PRODUCTS = frozenset(("dot", "convolution"))
_PASSED_ON = (MOVES - {"convert"}) | {"slice", "dynamic-slice", "pad", "broadcast", "reverse"}
_MAX_SEEN = 64


def read_as(instruction: Instruction) -> str | None:
    """The one type every reader converts this value to first; None where any reads it as it is, or nothing does."""
    pending, seen, found = [instruction], {id(instruction)}, set[str]()
    while pending:
        value = pending.pop()
        if value.is_root or len(seen) > _MAX_SEEN:
            return None
        for user in value.users:
            if user.opcode in _PRODUCTS:
                if value.shape.dtype != "f32" or not _default_precision(user):
                    return None
                found.add("bf16")
            elif user.opcode == "convert":
                if not _is_narrower(user.shape.dtype, value.shape.dtype):
                    return None
                found.add(user.shape.dtype)
            elif user.opcode not in _PASSED_ON or user.operands[0] is not value or value in user.operands[1:]:
                return None
            elif id(user) not in seen:
                seen.add(id(user))
                pending.append(user)
    return found.pop() if len(found) == 1 else None


def _is_narrower(dtype: str, than: str) -> bool:
    return BITS.get(dtype, 0) < BITS.get(than, 0)


def _default_precision(product: Instruction) -> bool:
    """A precision of either operand, or an algorithm, says what the product reads; default is one bfloat16 pass."""
    asked = product.attributes.get("operand_precision", "").strip("{}")
    return "algorithm" not in product.attributes and all(each.strip() in ("", "default") for each in asked.split(","))
