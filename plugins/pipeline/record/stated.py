"""The contract that bound evidence says it is of: a checkpoint by its item `contract`, a report by its provenance."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ....contracts.record import SHA256, Record
from ....linters.record.evidence import Stated
from ....linters.record.files import start_of
from .metrics import MAX_BYTES

_ITEM = "contract/metadata"
"""The file in a step that holds what it was saved under."""


def stated(record: Record, root: Path, whole: Collection[str]) -> dict[str, Stated]:
    """What each file says that is evidence and among `whole`, those that are as they were bound. One that says nothing
    is left out."""
    told = [*_checkpoints(record, root, whole), *_reports(record, root, whole)]
    return {path: said for path, said in told if said.sections or said.digests or said.files}


def _checkpoints(record: Record, root: Path, whole: Collection[str]) -> Iterator[tuple[str, Stated]]:
    for each in record.checkpoints:
        path = f"{start_of(each.folder)}{_ITEM}"
        if path in whole:
            found = _json(root / path)
            sections = {name: said for name, said in found.items() if isinstance(said, str) and re.match(SHA256, said)}
            yield path, Stated("this checkpoint", sections=sections)


def _reports(record: Record, root: Path, whole: Collection[str]) -> Iterator[tuple[str, Stated]]:
    for source in dict.fromkeys(each.source for each in record.verdicts if each.source is not None):
        if source in whole:
            provenance = _json(root / source).get("provenance")
            made = provenance if isinstance(provenance, dict) else {}
            digests = [each.get("contract_digest") for each in _list(made.get("captures")) if isinstance(each, dict)]
            yield source, Stated("this report", digests=_texts(digests), files=_texts(made.get("contracts")))


def _texts(found: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in _list(found) if isinstance(each, str)))


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one where it is none."""
    try:
        found = json.loads(path.read_bytes()) if path.stat().st_size <= MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
