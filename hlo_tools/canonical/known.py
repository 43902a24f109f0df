"""Whether every device could work a collective's result out by itself: nothing that it reads comes from the step.

A partitioner that shards an iota (the counters of `jax.random` are one) may gather it again. What is gathered follows
from constants and the partition number alone, whichever way a compiler spells it. Nobody asked for
it, and no promise is about it; what runs of it is counted in the ledger as run.
"""

from __future__ import annotations

from ..collectives import Collective
from ..instruction import Instruction

_MADE_HERE = frozenset(("constant", "iota", "partition-id", "replica-id"))
_FOLLOWS = frozenset(
    (
        *("abs", "add", "and", "bitcast", "bitcast-convert", "broadcast", "clamp", "compare", "concatenate", "convert"),
        *("copy", "divide", "dynamic-slice", "dynamic-update-slice", "maximum", "minimum", "multiply", "negate"),
        *("not", "or", "pad", "remainder", "reshape", "reverse", "select", "shift-left", "shift-right-arithmetic"),
        *("shift-right-logical", "sign", "slice", "subtract", "transpose", "xor"),
        *("all-gather", "all-reduce", "collective-permute"),
    )
)
# The arithmetic of a counter in two words takes about fifty operations.
_MAX_VISITED = 256


def is_known(row: Collective) -> bool:
    """Whether all that a collective reads follows from constants and the device's own number."""
    if row.instruction is None or not row.instruction.operands:
        return False
    pending, seen = list(row.instruction.operands), set()
    while pending:
        value = pending.pop()
        if id(value) in seen or value.opcode in _MADE_HERE:
            continue
        seen.add(id(value))
        if len(seen) > _MAX_VISITED or not (value.opcode in _FOLLOWS or _is_plain_fusion(value)):
            return False
        pending.extend(value.operands)
    return True


def _is_plain_fusion(value: Instruction) -> bool:
    """Whether a fusion's result follows from its operands."""
    if value.opcode != "fusion" or len(value.called) != 1:
        return False
    opcodes = value.called[0].opcodes()
    return len(opcodes) <= _MAX_VISITED and all(
        opcode in _FOLLOWS or opcode in _MADE_HERE or opcode == "parameter" for opcode in opcodes
    )
