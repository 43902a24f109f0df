"""Whether a Zstandard frame is all there and of the right size, from its headers: nothing is decompressed.

RFC 8878, sections 3.1.1.1 (frame header) and 3.1.1.2 (blocks).
"""

from __future__ import annotations

from collections.abc import Callable

_MAGIC = b"\x28\xb5\x2f\xfd"
_DICTIONARY = (0, 1, 2, 4)
_CONTENT = (0, 2, 4, 8)
_RESERVED = 8
_MOST_BLOCKS = 4096
"""Blocks hold up to 128 KiB; of larger frames only the first half GiB is followed."""


def zstd_cut(read: Callable[[int, int], bytes], size: int, needed: int | None) -> str | None:
    """Why the one frame of `size` bytes cannot be read to its end, holds another number of bytes, or is not all.

    None where it can, or is too long to be followed. `read` gives so many bytes from a place on.
    """
    head = read(0, 18)
    if len(head) < 6 or not head.startswith(_MAGIC):
        return "is no Zstandard frame"
    descriptor = head[4]
    if descriptor & _RESERVED:
        return "is no Zstandard frame that can be read: the reserved bit of its header is set"
    single = descriptor >> 5 & 1
    content = _CONTENT[descriptor >> 6] or single
    place = 5 + (not single) + _DICTIONARY[descriptor & 3] + content
    if content and needed is not None:
        # Two bytes of size begin at 256: less takes one.
        holds = int.from_bytes(head[place - content : place], "little") + (256 if content == 2 else 0)
        if holds != needed:
            return f"holds {holds:,} B once it is decompressed, {needed:,} are needed"
    for _ in range(_MOST_BLOCKS):
        three = head[place : place + 3] if place + 3 <= len(head) else read(place, 3)
        header = int.from_bytes(three, "little")
        last, kind, length = header & 1, header >> 1 & 3, header >> 3
        place += 3 + (1 if kind == 1 else length)
        if place > size or kind == 3:
            return f"{size:,} B are stored, and its last block ends later" if kind != 3 else "holds no Zstandard block"
        if last:
            end = place + (4 if descriptor >> 2 & 1 else 0)
            return f"{size:,} B are stored, the frame has {end:,}" if end != size else None
    return None
