"""A backend without arithmetic in a narrow type communicates the wide one.

XLA's CPU backend promotes bfloat16 reductions to float32 (`all-reduce-promotion`, `float-normalization`), and gathers
with them, since the convert is moved before the gather. Executions and elements stay, bytes grow by the ratio of the
widths: never judge bytes or dtypes of collectives by a CPU program.
"""

from __future__ import annotations

from ...shape import BITS
from ..pool import Entry, Key
from .spelling import Spelling

_INTEGERS = ("s", "u", "pred")


def _ignore(key: Key) -> Key:
    return key._replace(dtype="integer" if key.dtype.startswith(_INTEGERS) else "float")


def _admits(before: Entry, after: Entry) -> bool:
    return BITS.get(before.key.dtype, 0) < BITS.get(after.key.dtype, 0)


WIDENED = Spelling("widened", "elements stay; bytes * (wide / narrow)", _ignore, _admits)
