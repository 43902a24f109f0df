"""The files below a folder, each with its digest. Nothing outside the folder is read: no link is followed.

Names are opened relative to their open folder, so one that becomes a link meanwhile is refused, not followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...contracts.data_manifest import MAX_DEPTH, MAX_FILES, DataFile, DataManifest, FileRole, Tokenizer, bad_name
from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from .tokenizer import MAX_BYTES, TOKENIZER_FILES, tokenizer_of

_CHUNK = 1 << 20
_LINES = (".jsonl", ".ndjson")
"""Endings of files that hold one record a line."""
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Found:
    path: str
    name: str
    folder: int


def build_manifest(
    folder: str | Path,
    *,
    tokenizer: Collection[str] = (),
    lenient: bool = False,
    without: Collection[Path] = (),
    on_progress: Progress | None = None,
) -> DataManifest:
    """The manifest of what lies below a folder.

    `tokenizer`: files, or folders of files, that are the tokenizer's, relative to the folder; files with the usual
    names (tokenizer.json, vocab.json, merges.txt, tokenizer.model, ...) are anyway. `lenient`: they may be gone or
    damaged, as a comparison will tell. `without`: files that are left out: the manifest itself. `on_progress` is told
    each source. Raises ContractLintError for a folder or tokenizer that cannot be read, and for what is neither a file
    nor a folder.
    """
    shown = Path(folder).as_posix()
    left_out = {(info.st_dev, info.st_ino) for path in without if (info := _stat(path)) is not None}
    try:
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ContractLintError(
            f"cannot be read: {error.strerror or error}", Location(shown), "name a folder"
        ) from error
    try:
        files: list[DataFile] = []
        named: set[str] = set()
        kept: dict[str, bytes] = {}
        source = ""
        for found in _walk(root, shown, "", 0):
            if on_progress is not None and source != (source := found.path.partition("/")[0]):
                on_progress(f"reading {source}")
            if len(files) >= MAX_FILES:
                raise ContractLintError(
                    f"holds more than {MAX_FILES:,} files", Location(shown), "pack records in shards"
                )
            entry = _hashed(found, shown, left_out, kept if _is_tokenizer(found.path, tokenizer, named) else None)
            if entry is not None:
                files.append(entry)
        unknown = () if lenient else sorted(set(tokenizer) - named)
        if unknown:
            raise ContractLintError(
                f"no file of the tokenizer is `{unknown[0]}`", Location(shown), "name a file or folder below it"
            )
        files.sort(key=lambda entry: entry.path)
        return DataManifest(tuple(files), _tokenizer(kept, shown, lenient))
    finally:
        os.close(root)


def _tokenizer(files: dict[str, bytes], shown: str, lenient: bool) -> Tokenizer | None:
    try:
        return tokenizer_of(files, shown)
    except ContractLintError:
        if lenient:
            return Tokenizer()
        raise


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _is_tokenizer(path: str, given: Collection[str], named: set[str]) -> bool:
    mine = [each for each in given if path == each.strip("/") or path.startswith(each.strip("/") + "/")]
    named.update(mine)
    return bool(mine) or path.rpartition("/")[2] in TOKENIZER_FILES


def _walk(folder: int, shown: str, above: str, depth: int) -> Iterator[_Found]:
    """Every file below an open folder, folders in the order of their names."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted((entry.name, entry.is_symlink(), entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError as error:
        raise _refused(shown, above, f"cannot be read: {error.strerror or error}") from error
    for name, link, is_folder in listed:
        path = f"{above}/{name}" if above else name
        if link:
            raise _refused(shown, path, "is a symbolic link", "put the file itself there: links are not followed")
        reason = bad_name(path)
        if reason is not None:
            raise _refused(shown, path, f"cannot stand in a manifest: its name {reason}", "rename it")
        if not is_folder:
            yield _Found(path, name, folder)
            continue
        if depth >= MAX_DEPTH:
            raise _refused(shown, path, f"lies deeper than {MAX_DEPTH} folders")
        try:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except OSError as error:
            raise _refused(shown, path, f"cannot be read: {error.strerror or error}") from error
        try:
            yield from _walk(inner, shown, path, depth + 1)
        finally:
            os.close(inner)


def _opened(found: _Found, shown: str) -> int:
    """A descriptor of a regular file. Raises ContractLintError for a link or anything else."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(found.name, flags, dir_fd=found.folder)
    except OSError as error:
        raise _refused(shown, found.path, f"cannot be read: {error.strerror or error}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _refused(shown, found.path, "is neither a file nor a folder", "take it out: a manifest names files")
    return descriptor


def _hashed(
    found: _Found, shown: str, left_out: set[tuple[int, int]], tokenizer: dict[str, bytes] | None
) -> DataFile | None:
    """The entry of one file, None for one that is left out. With `tokenizer` it is one of the tokenizer's, and its
    content is kept there."""
    with open(_opened(found, shown), "rb", buffering=0) as file:
        info = os.fstat(file.fileno())
        if (info.st_dev, info.st_ino) in left_out:
            return None
        if tokenizer is not None and info.st_size > MAX_BYTES:
            raise _refused(shown, found.path, f"has more than {MAX_BYTES:,} bytes: no file of a tokenizer has")
        digest, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
        content: list[bytes] = []
        counted = tokenizer is None and found.name.endswith(_LINES)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if counted:
                lines += chunk.count(b"\n")
                last = chunk[-1:]
            if tokenizer is not None:
                content.append(chunk)
    if tokenizer is not None:
        tokenizer[found.path] = b"".join(content)
    records = lines + (last != b"\n") if counted else None
    role: FileRole = "shard" if tokenizer is None else "tokenizer"
    return DataFile(found.path, role, size, f"sha256:{digest.hexdigest()}", records)


def _refused(shown: str, path: str, message: str, help: str | None = None) -> ContractLintError:
    return ContractLintError(message, Location(f"{shown}/{path}" if path else shown), help)
