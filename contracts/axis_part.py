"""Mesh axes and parts of them, as ledgers and contracts spell them: `fsdp`, and `fsdp:(1)2` (pre-size 1, size 2)."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PART = re.compile(r"(.*):\(([1-9][0-9]*)\)([1-9][0-9]*)")


def axis_name(axis: str) -> str:
    """`fsdp`, of `fsdp` and of `fsdp:(1)2`."""
    return _spans(axis)[0]


def is_rest(whole: Iterable[str], taken: Iterable[str], other: Iterable[str]) -> bool:
    """Whether `taken` is a part of the axes `whole`, and `other` lies in what it leaves of them."""
    whole, taken, other = list(whole), list(taken), list(other)
    inside = all(any(_within(axis, each) for each in whole) for axis in [*taken, *other])
    return bool(other) and inside and not any(_overlap(axis, each) for axis in other for each in taken)


def _spans(axis: str) -> tuple[str, int, float]:
    """Name, where it begins, where it ends; a whole axis ends behind all its parts."""
    part = _PART.fullmatch(axis)
    if part is None:
        return axis, 1, float("inf")
    begin = int(part[2])
    return part[1], begin, begin * int(part[3])


def _within(axis: str, whole: str) -> bool:
    (name, begin, end), (other, first, last) = _spans(axis), _spans(whole)
    return name == other and first <= begin and end <= last


def _overlap(axis: str, other: str) -> bool:
    (name, begin, end), (another, first, last) = _spans(axis), _spans(other)
    return name == another and begin < last and first < end
