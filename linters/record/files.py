"""Files below one folder, hashed: each part of a path is opened relative to its open parent, no link is followed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...contracts.data_manifest import MAX_DEPTH, DataFile, DataManifest, bad_name
from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.model import format_bytes
from ...contracts.record import FileDigest, digest_in

_CHUNK = 1 << 20
_HOLLOW = 1 << 30
"""From this size on a file must hold a part of what it claims: one of 10 GB may be nothing but a hole."""
_LEAST = 64
_BESIDE = (".git", ".contract-lint")
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class NoFile:
    """What stands where a file should: what is said of it, in a word what it is, and what to do."""

    said: str
    what: str
    help: str


class NoFileError(ContractLintError):
    """There is something at the place of a file, and it is none that can be read."""

    def __init__(self, found: NoFile, location: Location) -> None:
        super().__init__(found.said, location, found.help)
        self.found = found


_LINK = NoFile("is a symbolic link", "a symbolic link", "links are not followed: put the file there")
_FOLDER = NoFile("is a folder", "a folder", "a record binds files")
_LINKED = NoFile("is a symbolic link", "a link", "links are not followed: put the folder there")
_GONE = NoFile(
    "is not there",
    "no folder",
    "it may have been removed by `checkpoint.retention`, by a later run: keep what a record binds",
)
_OTHER = NoFile("is no file", "neither a file nor a folder", "a record binds files")


def lies_beside(path: str) -> bool:
    """Whether a file in the folder of a checkpoint, by its path there, is none of it: git's, what contract-lint keeps
    in a project, a record."""
    return path.partition("/")[0] in _BESIDE or digest_in(path.rpartition("/")[2]) is not None


def start_of(folder: str) -> str:
    """What the paths of files in a folder of a record begin with; `.` is the project itself."""
    return "" if folder == "." else f"{folder}/"


def size_below(root: Path, path: str) -> int | None:
    """Bytes of a file, None where it is not there. Raises as `digest_below`."""
    descriptor = _opened(root, path)
    if descriptor is None:
        return None
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def digest_below(root: Path, path: str, first: int | None = None) -> FileDigest | None:
    """Size and sha256 of one file, or of its `first` bytes; None where it is not there.

    Raises NoFileError for a link on the way, for what is no file, cannot be read, or is a hole with a name;
    ContractLintError for a path that leads out of `root`.
    """
    descriptor = _opened(root, path)
    if descriptor is None:
        return None
    with open(descriptor, "rb", buffering=0) as file:
        digest, size = hashlib.sha256(), 0
        try:
            while chunk := file.read(_CHUNK if first is None else min(_CHUNK, first - size)):
                digest.update(chunk)
                size += len(chunk)
        except OSError as error:
            raise NoFileError(_unreadable(error), _place(root, path)) from error
    return FileDigest(path=path, sha256=digest.hexdigest(), bytes=size, grows=first is not None)


def link_below(root: Path, path: str) -> FileDigest | None:
    """Size and sha256 of the text of a link, as git has it: it is not followed. None where there is no link.

    Raises as `digest_below`.
    """
    *folders, name = _parts(root, path)
    at = _folder(root, folders, path)
    if at is None:
        return None
    try:
        text = os.fsencode(os.readlink(name, dir_fd=at))
    except OSError as error:
        if error.errno in (*_ABSENT, errno.EINVAL):  # EINVAL: it is there, and no link
            return None
        raise NoFileError(_unreadable(error), _place(root, path)) from error
    finally:
        os.close(at)
    return FileDigest(path=path, sha256=hashlib.sha256(text).hexdigest(), bytes=len(text))


def names_below(root: Path, folder: str) -> Iterator[str]:
    """The paths below `root` of all that is in a folder and is no folder itself: links too, which are not followed.

    A folder in it that cannot be opened stands for what it holds. Nothing where the folder is not there, or a link
    leads to it.
    """
    try:
        at = _folder(root, folder.split("/"), folder)
    except NoFileError:
        return
    if at is None:
        return
    try:
        yield from _names(at, folder)
    finally:
        os.close(at)


def no_folder_below(root: Path, folder: str) -> NoFile | None:
    """What keeps a folder from being looked into: it is not there, a link leads to it, it cannot be opened."""
    try:
        at = _folder(root, folder.split("/"), folder)
    except NoFileError as error:
        return _LINKED if (root / folder).is_symlink() else error.found
    if at is None:
        return _GONE
    os.close(at)
    return None


def tree_digest(files: dict[str, FileDigest]) -> str:
    """The digest of files by their path in a folder, as `contracts/data_manifest` works it out."""
    entries = (DataFile(path, "shard", each.bytes, f"sha256:{each.sha256}") for path, each in files.items())
    return DataManifest(tuple(sorted(entries, key=lambda entry: entry.path))).root


def _names(at: int, folder: str) -> Iterator[str]:
    try:
        with os.scandir(at) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError:
        yield folder
        return
    for name, is_folder in found:
        path = f"{folder}/{name}"
        inner = -1
        if is_folder and path.count("/") < MAX_DEPTH:
            with suppress(OSError):  # it is told as one thing that is there
                inner = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=at)
        if inner < 0:
            yield path
            continue
        try:
            yield from _names(inner, path)
        finally:
            os.close(inner)


def _opened(root: Path, path: str) -> int | None:
    """A descriptor of a regular file below `root`."""
    *folders, name = _parts(root, path)
    at = _folder(root, folders, path)
    if at is None:
        return None
    try:
        found = _step(at, name, stat.S_IFREG, root, path)
    finally:
        os.close(at)
    if found is None:
        return None
    info = os.fstat(found)
    if not stat.S_ISREG(info.st_mode):  # it took the place of the file just now
        os.close(found)
        raise NoFileError(_OTHER, _place(root, path))
    if info.st_size >= _HOLLOW and info.st_blocks * 512 < info.st_size // _LEAST:
        os.close(found)
        said = f"is sparse: it has {format_bytes(info.st_size)}, stored are {format_bytes(info.st_blocks * 512)}"
        hole = NoFile(said, "a file that is nearly all hole", "a record binds files that hold something")
        raise NoFileError(hole, _place(root, path))
    return found


def _parts(root: Path, path: str) -> list[str]:
    reason = bad_name(path)
    if reason is not None:
        raise ContractLintError(
            f"its path {reason}",
            _place(root, path),
            "a record names files below its folder, by names that can be shown",
        )
    return path.split("/")


def _folder(root: Path, folders: list[str], path: str) -> int | None:
    """A descriptor of a folder below `root` on the way to `path`."""
    try:
        at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(root.as_posix())) from error
    for part in folders:
        try:
            inner = _step(at, part, stat.S_IFDIR, root, path)
        finally:
            os.close(at)
        if inner is None:
            return None
        at = inner
    return at


def _step(at: int, name: str, wanted: int, root: Path, path: str) -> int | None:
    """A descriptor of one part of a path: a folder or a file, as `wanted` says; None where there is none."""
    try:
        # What is no file is not opened at all: to open a pipe or a device may do something to it.
        found = stat.S_IFMT(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
        if found == stat.S_IFLNK:
            behind = f"lies behind `{name}`, which is a symbolic link"
            link = NoFile(behind, "a link", _LINKED.help) if wanted == stat.S_IFDIR else _LINK
            raise NoFileError(link, _place(root, path))
        if found != wanted:
            if wanted == stat.S_IFDIR:
                return None
            raise NoFileError(_FOLDER if found == stat.S_IFDIR else _OTHER, _place(root, path))
        return os.open(name, _FLAGS | (os.O_DIRECTORY if wanted == stat.S_IFDIR else os.O_NONBLOCK), dir_fd=at)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise NoFileError(_unreadable(error), _place(root, path)) from error


def _unreadable(error: OSError) -> NoFile:
    return NoFile(f"cannot be read: {error.strerror or error}", "what cannot be read", "make it readable")


def _place(root: Path, path: str) -> Location:
    return Location(path if root == Path(".") else f"{root.as_posix()}/{path}")
