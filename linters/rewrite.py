"""A file's content exchanged so that nothing of the file is lost: its links, its owner, its mode, and never half of it.

The new content is written beside the file and takes its place in one step. Where that would make it another file - it
has several names, or an owner that we cannot give - it is written into the file that is there, with the new content
whole beside it until that is done, and the old one put back when it fails.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import suppress

_ANY_WRITES = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_BINARY = getattr(os, "O_BINARY", 0)


def rewrite(path: str, content: bytes) -> None:
    """The file at `path`, or what a link there leads to, with this content; a new file where there is none.

    Raises OSError where it cannot be written; a file that is read-only is not, whoever asks.
    """
    path = os.path.realpath(path)
    try:
        about = os.stat(path)
    except FileNotFoundError:
        about = None
    if about is not None and not (about.st_mode & _ANY_WRITES and os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, "it is read-only", path)
    part = f"{path}.{os.getpid()}.part"
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666 if about is None else 0o600)
    except OSError:
        if about is None:
            raise
        _write_into(path, content)  # nothing can be made in its folder
        return
    try:
        _write_all(handle, content)
        if about is None or _made_alike(part, path, about):
            os.replace(part, path)
        else:
            _write_into(path, content)
            os.unlink(part)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def _made_alike(part: str, path: str, about: os.stat_result) -> bool:
    """Gives a new file all that its predecessor has beside its content; whether that can be done."""
    if about.st_nlink > 1:
        return False
    mine = os.stat(part)
    if (mine.st_uid, mine.st_gid) != (about.st_uid, about.st_gid):
        try:
            os.chown(part, about.st_uid, about.st_gid)
        except OSError:
            return False
    shutil.copystat(path, part)  # mode, access lists and labels
    os.utime(part)
    return True


def _write_into(path: str, content: bytes) -> None:
    """The content into a file that stays the same file."""
    handle = os.open(path, os.O_RDWR | _BINARY)
    with open(handle, "r+b", buffering=0) as file:
        before = file.readall()
        try:
            _exchange(file.fileno(), content)
        except BaseException:
            _exchange(file.fileno(), before)
            raise


def _exchange(handle: int, content: bytes) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    _write(handle, content)
    os.ftruncate(handle, len(content))
    os.fsync(handle)


def _write_all(handle: int, content: bytes) -> None:
    try:
        _write(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
