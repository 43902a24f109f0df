"""What a runtime says when it cannot allocate: every wording known, as numbers.

    Out of memory while trying to allocate 13421772800 bytes.                            (GPU; since 2025: 12.50GiB)
    Failed to allocate request for 32.00MiB (33554432B) on device ordinal 0              (GPU without a pool)
    Error allocating device buffer: Attempting to allocate 3.91G. That was not possible. There are 2.18G free.  (TPU)
    Error loading program 'jit_step': Attempting to reserve 29.49G at the bottom of memory. That was not possible. ...
    Scoped allocation with size 19.85M and limit 16.00M exceeded scoped vmem limit by 3.85M.  (TPU, while compiling)

The allocator's own lines in a log are taken where no error follows them. Those that "the caller indicates" to be no
failure are none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

_UNITS = {unit: 1 << 10 * power for power, unit in enumerate("KMGTPE", 1)}
# A number without a unit may be cut in half.
_SIZE = r"(\d{1,15}(?:\.\d{1,6})?(?:[KMGTPE](?:iB)?|B| bytes))"
_TPU = re.compile(
    rf"Attempting\s+to\s+(?:allocate|reserve)\s+{_SIZE}(?:\s+at\s+the\s+bottom\s+of\s+memory)?\.\s+That\s+was\s+not\s+"
    rf"possible\.\s+There\s+are\s+{_SIZE}\s+free"
    rf"(?:,\s+{_SIZE}\s+reserved,\s+and\s+{_SIZE}\s+reservable)?"
    rf"(?:\.\s+(?:The|Due\s+to\s+fragmentation,\s+the)\s+largest\s+contiguous\s+region\s+of\s+free\s+memory\s+is\s+{_SIZE})?"
)
_LOADING = re.compile(r"Error\s+loading\s+program(?:\s+'([\w.<>-]{1,200})')?:\s+\Z")
_ARRAY = re.compile(r"Error\s+allocating\s+device\s+buffer:\s+\Z")
_SPARSE = re.compile(
    rf"TensorCore Hbm usage: {_SIZE}, SparseCore Hbm usage:? {_SIZE}, exceeding available bytes: {_SIZE}"
)
_SCOPED = re.compile(rf"Scoped allocation with size {_SIZE} and limit {_SIZE} exceeded scoped (\w{{1,20}}) limit")
_BLOCK = re.compile(
    r"Allocation \(size=(\d{1,18})\) would exceed memory \(size=(\d{1,18})\)(?:[^\n]{0,400}?space=(\w{1,20}))?"
)
_ERRORS = (
    re.compile(rf"Out of (?P<host>host )?memory while trying to allocate (?P<size>{_SIZE})"),
    re.compile(r"Failed to allocate request for [\d.]{1,20}[KMGTPE]?i?B \((?P<size>\d{1,18}B)\) on device ordinal"),
    re.compile(r"Out of memory allocating (?P<size>\d{1,18} bytes)"),
    re.compile(r"Failed to allocate (?P<size>\d{1,18} bytes) for new constant"),
    re.compile(r"Failed to allocate (?P<size>\d{1,18} bytes) for (?P<host>host) offloading transfer buffer"),
)
_LOGGED = (
    re.compile(
        rf"Allocator \((?:(?P<host>\w{{0,20}}host\w{{0,20}})|\w{{1,60}})\) ran out of memory trying to allocate "
        rf"(?P<size>{_SIZE})(?=\.| ?\(rounded to )"
    ),
    re.compile(r"cuMemAllocAsync failed to allocate (?P<size>\d{1,18} bytes)"),
    re.compile(
        r"[Ff]ailed to allocate [\d.]{1,20}[KMGTPE]?i?B \((?P<size>\d{1,18} bytes)\) "
        r"(?:from device|of unified memory|of (?P<host>pinned host|host) memory)"
    ),
)
_POOL = re.compile(r"\bLimit: {1,30}(\d{1,18})[ \r]{0,30}\n[^\n]{0,200}?\bInUse: {1,30}(\d{1,18})")
_CUDA_FREE = re.compile(r"Free memory/Total memory: (\d{1,18})/(\d{1,18})")

By = Literal["program", "array", "compiler", ""]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was asked for and not given. Bytes are as exact as printed; None what is not said.

    `by` is what asked: a program as it was loaded, an array that is put on the device or comes out of a program, the
    compiler for one kernel. `free_bytes` may be more than is asked for, in no one piece; `usable_bytes` of it can go
    to one allocation.
    """

    wanted_bytes: int
    space: str = "device"
    by: By = ""
    program: str | None = None
    free_bytes: int | None = None
    usable_bytes: int | None = None
    limit_bytes: int | None = None

    @property
    def is_fragmented(self) -> bool:
        """Whether as much is free, but not in one piece."""
        return self.free_bytes is not None and self.free_bytes >= self.wanted_bytes

    def as_json(self) -> dict[str, Any]:
        return {
            "wanted_bytes": self.wanted_bytes,
            "space": self.space,
            "by": self.by or None,
            "program": self.program,
            "free_bytes": self.free_bytes,
            "usable_bytes": self.usable_bytes,
            "limit_bytes": self.limit_bytes,
        }


def refusal(text: str) -> Refusal | None:
    """The first refused allocation in a text; an error goes before the lines of an allocator. None where none is."""
    return _of_tpu(text) or _of_compiler(text) or _plain(text, _ERRORS) or _plain(text, _LOGGED)


def _of_tpu(text: str) -> Refusal | None:
    match = _TPU.search(text)
    if match is None:
        return None
    before = text[max(0, match.start() - 300) : match.start()]
    loading = _LOADING.search(before)
    free, reservable, piece = _bytes(match[2]), match[4], match[5]
    return Refusal(
        _bytes(match[1]),
        by="program" if loading else "array" if _ARRAY.search(before) else "",
        program=loading[1] if loading else None,
        free_bytes=free,
        usable_bytes=_bytes(piece or reservable) if piece or reservable else None,
    )


def _of_compiler(text: str) -> Refusal | None:
    if (match := _SPARSE.search(text)) is not None:
        wanted = _bytes(match[1]) + _bytes(match[2])
        return Refusal(wanted, "hbm", "compiler", limit_bytes=_bytes(match[3]))
    if (match := _SCOPED.search(text)) is not None:
        return Refusal(_bytes(match[1]), f"scoped {match[3]}", "compiler", limit_bytes=_bytes(match[2]))
    if (match := _BLOCK.search(text)) is not None:
        return Refusal(int(match[1]), match[3] or "device", "compiler", limit_bytes=int(match[2]))
    return None


def _plain(text: str, forms: tuple[re.Pattern[str], ...]) -> Refusal | None:
    found = [match for form in forms if (match := form.search(text)) is not None]
    if not found:
        return None
    first = min(found, key=lambda match: match.start())
    host = first.groupdict().get("host") is not None
    size = _bytes(first["size"])
    # What the pool of a device holds says nothing of the host's.
    pool, cuda = (None, None) if host else (_POOL.search(text), _CUDA_FREE.search(text))
    free = int(pool[1]) - int(pool[2]) if pool else int(cuda[1]) if cuda else None
    limit = int(pool[1]) if pool else int(cuda[2]) if cuda else None
    return Refusal(size, "host" if host else "device", free_bytes=free, limit_bytes=limit)


def _bytes(text: str) -> int:
    """`3.91G`, `12.50GiB`, `16B` or `13421772800 bytes`."""
    plain = text.removesuffix(" bytes").removesuffix("B").removesuffix("i")
    unit = _UNITS.get(plain[-1:])
    return round(float(plain[:-1]) * unit) if unit else round(float(plain))
