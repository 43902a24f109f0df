"""Where records lie: beside the captures of a project, in a folder that git ignores; and how one is found again."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

from ....contracts.errors import ContractLintError, visible
from ....contracts.finding import Location
from ....contracts.record import SUFFIX, TIME, Record, digest_in, sha256
from ....contracts.record_file import MAX_BYTES, parse_record, record_bytes
from ....runtime.cache_places import FOLDER, cache_places, is_place, place_name, write_whole
from ....runtime.contract import ROOT_MARKS

RECORDS = "records"
LATEST = "latest"
_PREFIX = re.compile(r"[0-9a-f]{1,64}")
NAMED = "a record is named NAME.<sha256 of the file>.record.json: give it back its name"


def records_folder(root: Path, cache_dir: str | os.PathLike[str] | None, say: Callable[[str], None]) -> Path:
    """The folder for new records of a project, made where it is not there. Raises ContractLintError."""
    places = cache_places(root, _chosen(cache_dir))
    place = places.writable(say)
    if place not in places.readable:
        said = f"neither {FOLDER} in the project nor the user's cache folder can be written to"
        raise ContractLintError(said, help="name a folder with -o or --cache-dir")
    folder = place / RECORDS
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error
    return folder


def not_written(folder: Path, error: OSError) -> ContractLintError:
    """What to say where a folder takes no record."""
    room = "make room there, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    said = f"no record can be written there: {error.strerror or error}"
    return ContractLintError(said, Location(shown_path(folder)), f"{room}name another folder with -o")


def kept(folder: Path, record: Record) -> Path:
    """Write a record under its name; all of it or nothing is there. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / record.file_name
    write_whole(path, record.as_text())
    return path


def project_here(cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """The project whose records are meant in the working folder: this folder, or the nearest above it that keeps
    records, no higher than its root."""
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if any((place / RECORDS).is_dir() for place in cache_places(folder, _chosen(cache_dir)).readable):
            return folder
        if any((folder / mark).exists() for mark in ROOT_MARKS):
            break
    return here


def listed(root: Path, cache_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """The files of all records of a project, by when they were written."""
    found = []
    for place in cache_places(root, _chosen(cache_dir)).readable:
        found += records_in(place / RECORDS)
    return sorted(found, key=lambda path: (_changed(path), path.name))


def records_in(folder: Path) -> list[Path]:
    """The records of one folder, by name."""
    return [path for path, is_file in _named(folder) if is_file]


def no_files(root: Path, cache_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """What is named as a record of a project and is no file: links, pipes, folders. Whoever reads one is told."""
    places = cache_places(root, _chosen(cache_dir)).readable
    return [path for place in places for path, is_file in _named(place / RECORDS) if not is_file]


def _named(folder: Path) -> list[tuple[Path, bool]]:
    """All that is named as a record, by name, and whether it is a file."""
    try:
        with os.scandir(folder) as entries:
            found = [(each.name, each.is_file(follow_symlinks=False)) for each in entries]
    except OSError:
        return []
    return [(folder / name, is_file) for name, is_file in sorted(found) if digest_in(name) is not None]


def find(named: str, cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """A record by its file, the first digits of its sha256, or `latest`. Raises ContractLintError for none or two."""
    if named.endswith(SUFFIX) or os.path.lexists(named):
        return Path(named)
    root = project_here(cache_dir)
    there = listed(root, cache_dir)
    if named == LATEST and there:
        return max(reversed(there), key=_made)  # of one second the one that was written last
    if _PREFIX.fullmatch(named):
        matching = [path for path in there if _begins(path, named)]
        if len({path.name for path in matching}) == 1:
            return matching[0]
        odd = [path for path in no_files(root, cache_dir) if _begins(path, named)]
        if odd and not matching:
            return odd[0]
        if matching:
            raise ContractLintError(f"{len(matching)} records begin with {named}", help="give more of the digits")
    many = f"there {'is' if len(there) == 1 else 'are'} {len(there):,} record{'s' * (len(there) != 1)} of this project"
    where = many if there else f"there is no record in {FOLDER}/{RECORDS}"
    help = "name a file, the first digits of its sha256, or `latest`; `contract-lint history` lists them"
    raise ContractLintError(f"no record is {visible(named[:120])}: {where}", help=help)


def _begins(path: Path, digits: str) -> bool:
    return (digest_in(path.name) or "").startswith(digits)


def read_record(path: Path) -> Record:
    """The record in a file whose name has its digest. Raises ContractLintError, as for one that was changed."""
    return parse_record(record_data(path), shown_path(path))


def record_data(path: Path) -> bytes:
    """The bytes of a record, which are those that its name promises. Raises ContractLintError."""
    shown = shown_path(path)
    data = record_bytes(path, shown)
    promised = digest_in(path.name)
    if promised != sha256(data):
        if promised is None:
            raise ContractLintError("is not named as records are, with its sha256", Location(shown), NAMED)
        said = "was changed after it was written: its sha256 is not the one in its name"
        raise ContractLintError(said, Location(shown), "take it from where it was written, or make a new one")
    return data


def root_of(path: Path) -> Path:
    """The folder that the record in a file is about: the project that it is kept in or for, else the one in the working
    folder. Raises ContractLintError where it is kept for a project that is not here."""
    folder = path.resolve().parent
    if folder.name == RECORDS and folder.parent.name == FOLDER:
        return folder.parent.parent
    if folder.name == RECORDS and is_place(folder.parent):
        here = Path.cwd().resolve()
        for root in (here, *here.parents):
            if place_name(root) == folder.parent.name:
                return root
        said = "is kept for a project that the working folder is not in"
        raise ContractLintError(said, Location(shown_path(path)), "name its project with --root")
    return project_here()


def shown_path(path: Path) -> str:
    """A path relative to the working folder where it lies below it."""
    absolute, here = Path(os.path.abspath(path)), Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else path.as_posix()


def short(digest: str) -> str:
    """As much of a digest as names a record in practice."""
    return digest[:12]


def _chosen(cache_dir: str | os.PathLike[str] | None) -> Path | None:
    return Path(cache_dir).absolute() if cache_dir is not None else None


def _made(path: Path) -> str:
    """When the record in a file says that it was made; "" where it says nothing. Times of files are those of copies."""
    try:
        with path.open("rb") as file:
            said = json.loads(file.read(MAX_BYTES))["predicate"]["created"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return said if isinstance(said, str) and re.fullmatch(TIME, said) else ""


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
