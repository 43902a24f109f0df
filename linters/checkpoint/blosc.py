"""Whether a Blosc buffer is all there and of the right size, from its header: nothing is decompressed.

https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst
"""

from __future__ import annotations

from collections.abc import Callable

_HEADER = 16


def blosc_cut(read: Callable[[int, int], bytes], size: int, needed: int | None) -> str | None:
    """Why the buffer of `size` bytes cannot be read, or does not hold the bytes that are needed; None where it can."""
    head = read(0, _HEADER)
    if len(head) < _HEADER:
        return f"{size:,} B are stored, a Blosc header alone has {_HEADER}"
    holds, stored = int.from_bytes(head[4:8], "little"), int.from_bytes(head[12:16], "little")
    if stored != size:
        return f"{size:,} B are stored, the buffer has {stored:,}"
    if needed is not None and holds != needed:
        return f"holds {holds:,} B once it is decompressed, {needed:,} are needed"
    return None
