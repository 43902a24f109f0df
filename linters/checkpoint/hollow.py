"""How much of a file is stored: one that was only stretched to its length reads as zeros, and no reader complains."""

from __future__ import annotations

import errno
import os

_BLOCK = 4096
"""Files are stored in blocks of that size or more."""
_LEAST = 4 * _BLOCK
"""Smaller files may lie within the folder itself, with no block of their own."""
_PART = 8
"""Less than one in so many bytes behind the first block: arrays that are zeros are often a part, seldom that much."""


def stored_of(descriptor: int, size: int) -> int:
    """Bytes of a file that are stored, as the file system tells: all of them where it does not tell."""
    found = place = 0
    while place < size:
        try:
            start = os.lseek(descriptor, place, os.SEEK_DATA)
            place = min(os.lseek(descriptor, start, os.SEEK_HOLE), size)
        except OSError as error:
            # A hole up to the end is told as a place that is not there.
            return found if error.errno == errno.ENXIO else size
        found += place - start
    return found


def suspect(info: os.stat_result) -> bool:
    """Whether a file may be hollow. Some file systems count no block of a whole file: its data are then asked for."""
    return info.st_size >= _LEAST and _thin(info.st_blocks * 512, info.st_size)


def hollow(descriptor: int, size: int) -> int | None:
    """The bytes that are stored of a `suspect` file if it is a hole but for its beginning, else None."""
    stored = stored_of(descriptor, size)
    return stored if _thin(stored, size) else None


def _thin(stored: int, size: int) -> bool:
    return max(0, stored - _BLOCK) < (size - _BLOCK) // _PART
