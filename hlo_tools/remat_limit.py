"""What XLA's rematerialization says when recomputing does not get a program small enough.

    Can't reduce memory use below 37.22GiB (39965061120 bytes) by rematerialization; only reduced to 60.11GiB (...),
    down from 60.11GiB (...) originally

A warning: the program is compiled all the same. Limits below nothing are printed too, where the arguments alone take
more than there is. The first releases print sizes without their bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_SIZE = r"(-?\d{1,15}(?:\.\d{1,6})?)([KMGTPE]?)i?B(?: \((-?\d{1,18}) bytes\))?"
_SAID = re.compile(
    rf"Can't reduce memory use below {_SIZE} by rematerialization[;,]? \(?only reduced to {_SIZE}"
    rf"(?:, down from {_SIZE} originally)?"
)
_POWERS = {unit: 10 * power for power, unit in enumerate("KMGTPE", 1)} | {"": 0}


@dataclass(frozen=True, slots=True)
class RematLimit:
    """Bytes: what the compiler aimed at, what it got the program down to, and (where it says so) from what."""

    limit_bytes: int
    reached_bytes: int
    first_bytes: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "limit_bytes": self.limit_bytes,
            "reached_bytes": self.reached_bytes,
            "first_bytes": self.first_bytes,
        }


def remat_limit(text: str) -> RematLimit | None:
    """The largest program that such a message of a text is about; None where there is none."""
    found = [_read(match) for match in _SAID.finditer(text)]
    return max(found, key=lambda each: each.reached_bytes, default=None)


def _read(match: re.Match[str]) -> RematLimit:
    limit, reached, first = (match.group(at, at + 1, at + 2) for at in (1, 4, 7))
    return RematLimit(_bytes(*limit), _bytes(*reached), _bytes(*first) if first[0] is not None else None)


def _bytes(number: str, unit: str, exact: str | None) -> int:
    return int(exact) if exact is not None else round(float(number) * (1 << _POWERS[unit]))
