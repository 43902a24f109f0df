"""Bound files that hold results or data of which the record says nothing: somebody may have taken that out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ....contracts.data_manifest import read_manifest
from ....contracts.errors import ContractLintError
from ....contracts.manifest import MANIFEST
from ....hlo_tools.capture import read_capture
from .metrics import MAX_BYTES, read_metrics
from .reported import verdict_in


def left_out(root: Path, paths: Iterable[str], note: Callable[[str], None]) -> None:
    """Tell of each file that reads as what a record has a part for. Files that are bound for their bytes alone, and
    read as nothing of the kind, are not told."""
    for path in paths:
        what = _part_in(root / path, path)
        if what is not None:
            note(f"{path} is bound and reads as {what}, and the record has nothing from it")


def _part_in(path: Path, shown: str) -> str | None:
    """What a file reads as. One that does not begin as a JSON object does is not read."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES) if file.peek(1)[:1] == b"{" else b""
    except OSError:
        return None
    return next((what for what, read in _READERS.items() if data and _reads(read, data, path, shown)), None)


def _reads(read: Callable[[bytes, Path, str], bool], data: bytes, path: Path, shown: str) -> bool:
    try:
        return read(data, path, shown)
    except ContractLintError:
        return False


def _is_report(data: bytes, path: Path, shown: str) -> bool:
    return bool(verdict_in(data, shown))


def _is_capture(data: bytes, path: Path, shown: str) -> bool:
    return path.name == MANIFEST and bool(read_capture(path.parent))


def _is_manifest(data: bytes, path: Path, shown: str) -> bool:
    return bool(read_manifest(path, shown))


def _is_metrics(data: bytes, path: Path, shown: str) -> bool:
    """Metrics and nothing else: settings hold other things than numbers."""
    told: list[str] = []
    return bool(read_metrics(data, shown, told.append)) and not told


_READERS = {
    "a report of contract-lint": _is_report,
    "a capture": _is_capture,
    "a data manifest": _is_manifest,
    "metrics": _is_metrics,
}
