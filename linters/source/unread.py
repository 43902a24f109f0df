"""Files that need not be read again: the file system says of them what it said when they were read.

As git does: size, times of change and of the inode, and its number. A clock has ticks, so a file that was written just
before it was read is read again next time: a second write may have come in the same tick. Only plain files are taken:
UTF-8, not said to be generated, without comments to this program.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from .text import SourceText, digest_of, source_text

State = list[int]
Known = Callable[[str], tuple[str, State] | None]
"""The digest and state of a file, by its absolute path, when it was read last."""
SETTLED = 2_000_000_000
"""Nanoseconds after which another write is sure to have another time, on file systems that count in seconds too."""
TELLS = os.name == "posix"
"""Whether the system says when an inode changed, which no program can set back."""


class Changed(Exception):
    """A file is not any more what the file system said it was."""


class Unread(SourceText):
    """The text of a file that is as it was: read when it is asked for, which raises Changed where it no longer is."""

    def __init__(self, path: str, digest: str, file: str, state: State) -> None:
        self.__dict__.update(path=path, digest=digest, file=file, state=state)

    @property
    def speaks(self) -> bool:
        return False

    def __getattr__(self, name: str) -> str:
        if name != "text":
            raise AttributeError(name)
        try:
            with open(self.file, "rb") as file:
                data = file.read()
        except OSError as error:
            raise Changed(self.path) from error
        if digest_of(data) != self.digest:
            raise Changed(self.path)
        text = self.__dict__["text"] = source_text(data, self.path).text
        return text


def state_of(about: os.stat_result) -> State:
    return [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]


def settled(about: os.stat_result) -> State | None:
    """The state of a file that is now read; None where it says too little of what is in it."""
    last = max(about.st_mtime_ns, about.st_ctime_ns)
    return state_of(about) if TELLS and last + SETTLED < time.time_ns() else None


def unread(path: str, file: str, known: Known) -> Unread | None:
    """The file as it was when it was read last; None where it may have changed."""
    was = known(file)
    if was is None:
        return None
    try:
        about = os.stat(file)
    except OSError:
        return None
    return Unread(path, was[0], file, was[1]) if state_of(about) == was[1] else None
