"""A record read back from its file: only what is one, canonical, and of a schema that is known here."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from .data_manifest import MAX_FILES, bad_name
from .errors import ContractLintError, visible
from .finding import Location
from .json_nodes import MAX_DIGITS, MAX_NODES, parse_json
from .record import FORMS, PREDICATE, RECORD_SCHEMA, STATEMENT, Record, canonical
from .unfit import unfit
from .yaml_nodes import MAX_DEPTH, Source, plain

MAX_BYTES = 64 * 1024 * 1024
_NO_RECORD = "`contract-lint record create` writes one"
_ODD = re.compile(rf"\\u[dD][89a-fA-F]|[:,\[]-?[0-9]{{{MAX_DIGITS + 1}}}")
"""Where there may be half a surrogate pair, or more digits than a number may have."""


def record_bytes(path: Path, shown: str) -> bytes:
    """The bytes of a record's file. Raises ContractLintError where it is no regular file, or too large for one."""
    place = Location(shown)
    try:
        if path.is_symlink():
            raise ContractLintError("is a symbolic link", place, "links are not followed: name what it points to")
        if not path.exists():
            raise ContractLintError("is not there", place, "`contract-lint history` lists the records that are")
        if not path.is_file():
            raise ContractLintError("is no file", place, _NO_RECORD)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ContractLintError(f"cannot be read: {getattr(error, 'strerror', error)}", place) from error
    if len(data) > MAX_BYTES:
        raise ContractLintError(f"has more than {MAX_BYTES:,} bytes: no record has", place)
    return data


def parse_record(data: bytes, shown: str) -> Record:
    """The record in a text. No file that it names is opened.

    Raises ContractLintError, with the place, for what is no record, for one of a later schema, and for a path that
    leads out of the folder or stands twice.
    """
    place = Location(shown)
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        raise ContractLintError(f"byte {error.start:,} is not ASCII: this is no record", place, _NO_RECORD) from error
    found = _canonical(text)
    if found is None:
        found = plain(parse_json(text, Source(Path(shown), shown)))
    predicate = _predicate(found, place)
    files = [_file(entry, number, place) for number, entry in enumerate(_subject(found, place))]
    try:
        record = Record.model_validate({**predicate, "files": files})
    except ValidationError as error:
        raise ContractLintError(unfit(error, ("predicate",), FORMS), place, _NO_RECORD) from None
    _paths(record, place)
    if record.as_text() != text:
        absent = _absent(record.statement(), found)
        if absent is not None:
            raise ContractLintError(f"has no `{visible(absent)}`, which every record has", place, _NO_RECORD)
        raise ContractLintError("is not written as records are: keys sorted, no blanks", place, _NO_RECORD)
    return record


def _canonical(text: str) -> Any:
    """The value of a text that is canonical and keeps the limits of `parse_json`, which gives the same, slowly and with
    the place of what is wrong; None for any other text. What stands twice would not be written twice."""
    if sum(map(text.count, ",[{")) >= MAX_NODES or _ODD.search(text):
        return None
    try:
        found = json.loads(text)
        if canonical(found) + "\n" != text:
            return None
    except (ValueError, RecursionError):
        return None
    level = [found]
    for _ in range(MAX_DEPTH):
        holders = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [each for holder in holders for each in holder]
        if not level:
            return found
    return None


def _absent(whole: Any, found: Any, key: str = "") -> str | None:
    """The first key that a record has and a text of it has not: what may be left out when it is read is written."""
    if isinstance(whole, list) and isinstance(found, list):
        pairs = zip((f"{key}[{number}]" for number in range(len(whole))), whole, found, strict=False)
        return next((absent for at, a, b in pairs if (absent := _absent(a, b, at)) is not None), None)
    if not isinstance(whole, dict) or not isinstance(found, dict):
        return None
    for name, each in whole.items():
        at = f"{key}.{name}" if key else name
        absent = _absent(each, found[name], at) if name in found else at
        if absent is not None:
            return absent
    return None


def _predicate(found: Any, place: Location) -> dict[str, Any]:
    if not isinstance(found, dict) or found.get("_type") != STATEMENT:
        raise ContractLintError(f"is no in-toto Statement: `_type` is not {STATEMENT}", place, _NO_RECORD)
    kind = found.get("predicateType")
    if not isinstance(kind, str) or not kind.startswith(PREDICATE):
        raise ContractLintError("is a statement of another kind: `predicateType` names no record", place, _NO_RECORD)
    _require_known(kind.removeprefix(PREDICATE), place)
    unknown = sorted(found.keys() - {"_type", "subject", "predicateType", "predicate"})
    if unknown:
        raise ContractLintError(f"unknown key `{visible(unknown[0][:80])}`", place)
    predicate = found.get("predicate")
    if not isinstance(predicate, dict) or "files" in predicate:
        raise ContractLintError("`predicate` is no mapping of a record", place, _NO_RECORD)
    _require_known(predicate.get("schema_version", RECORD_SCHEMA), place)
    return predicate


def _require_known(schema: object, place: Location) -> None:
    """Raises ContractLintError for a schema that is not this version's. A word is one of no version."""
    told = str(schema)
    if told == str(RECORD_SCHEMA):
        return
    later = told.isdecimal() and len(told) < 10 and int(told) > RECORD_SCHEMA
    said = "is of a later version of contract-lint" if later else "is of no version of contract-lint"
    help = "read it with the version of contract-lint that wrote it" if later else _NO_RECORD
    raise ContractLintError(f"{said}: schema {visible(told[:20])}, known here is {RECORD_SCHEMA}", place, help)


def _subject(found: dict[str, Any], place: Location) -> list[Any]:
    subject = found.get("subject")
    if not isinstance(subject, list):
        raise ContractLintError("`subject` is no list", place, _NO_RECORD)
    if len(subject) > MAX_FILES:
        raise ContractLintError(f"names more than {MAX_FILES:,} files", place)
    return subject


def _file(entry: Any, number: int, place: Location) -> dict[str, Any]:
    try:
        name, digest, size = entry["name"], entry["digest"]["sha256"], entry["annotations"]["bytes"]
        whole = (
            isinstance(name, str)
            and entry.keys() == {"name", "digest", "annotations"}
            and entry["digest"].keys() == {"sha256"}
            and entry["annotations"].keys() in ({"bytes"}, {"bytes", "grows"})
            and entry["annotations"].get("grows", True) is True
        )
    except (TypeError, KeyError, AttributeError):
        whole, name, digest, size = False, "", "", 0
    if not whole:
        said = f"`subject[{number}]` is not a name, a digest `sha256` and the annotation `bytes` (and `grows`: true)"
        raise ContractLintError(said, place, _NO_RECORD)
    return {"path": name, "sha256": digest, "bytes": size, "grows": "grows" in entry["annotations"]}


def _paths(record: Record, place: Location) -> None:
    """Every path is below the folder, and no file stands twice."""
    seen: set[str] = set()
    for file in record.files:
        if file.path in seen:
            raise ContractLintError(f"names the file `{visible(file.path[:120])}` twice", place)
        seen.add(file.path)
    folders = [each.folder for each in record.checkpoints]
    folders += [each.capture for each in record.programs if each.capture is not None]
    others = [each.manifest for each in record.data]
    for path in (*seen, *folders, *others):
        reason = None if path == "." and path in folders else bad_name(path)
        if reason is not None:
            raise ContractLintError(
                f"the path `{visible(path[:120])}` {reason}", place, "nothing outside its folder is opened"
            )
    for path in others:
        if str(PurePosixPath(path)) not in seen:
            raise ContractLintError(f"the data manifest `{visible(path[:120])}` is none of the files it binds", place)
