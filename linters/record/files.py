"""Files below one folder, hashed: each part of a path is opened relative to its open parent, no link is followed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

from ...contracts.data_manifest import DataFile, DataManifest, bad_name
from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.model import format_bytes
from ...contracts.record import FileDigest

_CHUNK = 1 << 20
_HOLLOW = 1 << 30
"""From this size on a file must hold a part of what it claims: one of 10 GB may be nothing but a hole."""
_LEAST = 64
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def start_of(folder: str) -> str:
    """What the paths of files in a folder of a record begin with; `.` is the project itself."""
    return "" if folder == "." else f"{folder}/"


def size_below(root: Path, path: str) -> int | None:
    """Bytes of a file, None where it is not there. Raises ContractLintError as `digest_below`."""
    descriptor = _opened(root, path)
    if descriptor is None:
        return None
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def digest_below(root: Path, path: str) -> FileDigest | None:
    """Size and sha256 of one file, None where it is not there.

    Raises ContractLintError for a path that leads out of `root`, a link in it, what is no file, and for a file that is
    a hole with a name.
    """
    descriptor = _opened(root, path)
    if descriptor is None:
        return None
    with open(descriptor, "rb", buffering=0) as file:
        digest, size = hashlib.sha256(), 0
        try:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
        except OSError as error:
            raise _refused(root, path, f"cannot be read: {error.strerror or error}") from error
    return FileDigest(path=path, sha256=digest.hexdigest(), bytes=size)


def tree_digest(files: dict[str, FileDigest]) -> str:
    """The digest of files by their path in a folder, as `contracts/data_manifest` works it out."""
    entries = (DataFile(path, "shard", each.bytes, f"sha256:{each.sha256}") for path, each in files.items())
    return DataManifest(tuple(sorted(entries, key=lambda entry: entry.path))).root


def _opened(root: Path, path: str) -> int | None:
    """A descriptor of a regular file below `root`."""
    reason = bad_name(path)
    if reason is not None:
        raise _refused(root, path, f"its path {reason}", "nothing outside the folder is opened")
    *folders, name = path.split("/")
    try:
        at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(root.as_posix())) from error
    try:
        for part in folders:
            inner = _step(at, part, os.O_DIRECTORY, root, path)
            os.close(at)
            at = -1
            if inner is None:
                return None
            at = inner
        found = _step(at, name, os.O_NONBLOCK, root, path)
    finally:
        if at >= 0:
            os.close(at)
    if found is None:
        return None
    info = os.fstat(found)
    hollow = info.st_size >= _HOLLOW and info.st_blocks * 512 < info.st_size // _LEAST
    if not stat.S_ISREG(info.st_mode) or hollow:
        os.close(found)
        if hollow:
            said = f"is sparse: it has {format_bytes(info.st_size)}, stored are {format_bytes(info.st_blocks * 512)}"
            raise _refused(root, path, said, "a record binds files that hold something")
        raise _refused(root, path, "is no file", "a record binds files")
    return found


def _step(at: int, name: str, flags: int, root: Path, path: str) -> int | None:
    try:
        if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            raise _refused(root, path, f"`{name}` is a symbolic link", "links are not followed: put the file there")
        return os.open(name, _FLAGS | flags, dir_fd=at)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise _refused(root, path, f"cannot be read: {error.strerror or error}") from error


def _refused(root: Path, path: str, message: str, help: str | None = None) -> ContractLintError:
    shown = path if root == Path(".") else f"{root.as_posix()}/{path}"
    return ContractLintError(message, Location(shown), help)
