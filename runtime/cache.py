"""Captures kept by content: one is used again while every file it was made from, and every version, is the same."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from ..contracts.errors import ContractLintError, visible
from ..contracts.manifest import MANIFEST
from ..hlo_tools.capture import read_capture
from .cache_places import CACHE, CachePlaces, Say
from .folders import CLAIMS, LOCK, discarded, made
from .request import ChildRequest

KEPT = 32
"""Captures kept in one place; the oldest go first."""
ABANDONED = 24 * 3600.0
"""Seconds after which an entry goes that nobody ever claimed: an earlier version made it, or it was half made."""

_INSTALLED = (
    "sorted({name for folder in sys.path if os.path.isdir(folder) for name in os.listdir(folder)"
    " if name.endswith(('.dist-info', '.egg-info', '.egg-link'))})"
)


def installed_versions(python: str | None) -> list[str]:
    """Names of the installed distributions with their versions, as their metadata folders are called."""
    if python is None or Path(python) == Path(sys.executable):
        return eval(_INSTALLED, {"sys": sys, "os": os})
    code = f"import json, os, sys; print(json.dumps({_INSTALLED}))"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ContractLintError(f"cannot run {visible(python)}: {error}") from None


def request_key(request: ChildRequest, python: str | None, environment: dict[str, str]) -> str:
    """Digest of everything but the sources: the request, the Python, the packages, the compiler settings."""
    content = {
        "request": request.model_dump(mode="json", exclude={"out": True, "provenance": {"commit", "dirty"}}),
        "python": [python or sys.executable, sys.version if python is None else ""],
        "installed": installed_versions(python),
        "environment": environment,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


class CaptureCache:
    """The cache of one project: `cache/<request key>/<sources>/{capture,inputs.json}` in one of its places.

    Captures that are not to be found again lie in `captures/<target>-<random>/capture`. What this process was given is
    claimed until it ends, so that no other run removes it.
    """

    def __init__(self, places: CachePlaces, say: Say | None = None) -> None:
        self._places = places
        self._say: Say = say or (lambda _: None)

    @property
    def folder(self) -> Path:
        """Where entries are written. Raises ContractLintError where there is no place for them."""
        return self._places.writable(self._say) / CACHE

    def find(self, key: str) -> Path | None:
        """A finished capture whose inputs are all unchanged. One that is damaged is dropped, and that is said."""
        for place in self._places.readable:
            for inputs in sorted((place / CACHE / key).glob("*/inputs.json")):
                entry = inputs.parent
                CLAIMS.take(entry)  # not got in a cache that may only be read: nobody removes anything there
                if (entry / "capture" / MANIFEST).is_file() and _unchanged(inputs) and self._whole(entry):
                    with contextlib.suppress(OSError):  # on a cache that may only be read
                        os.utime(entry)
                    return entry / "capture"
                CLAIMS.drop(entry)
        return None

    def store(self, key: str, capture: Path, inputs: Iterable[str]) -> Path:
        """Take a finished capture over (the folder is moved) and return its new place."""
        digests = {path: digest for path in inputs if (digest := file_digest(path)) is not None}
        name = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]
        final = self.folder / key / name
        final.parent.mkdir(parents=True, exist_ok=True)
        CLAIMS.take(final)
        if _read(final / "inputs.json") == digests and self._whole(final):
            # Another run has stored the same, and somebody may be reading it: it stays.
            shutil.rmtree(capture, ignore_errors=True)
            return final / "capture"
        entry = made(self.folder, "new-")
        shutil.move(capture, entry / "capture")
        (entry / "inputs.json").write_text(json.dumps(digests, indent=0, sort_keys=True))
        CLAIMS.drop(final)
        kept = entry if not _replaced(entry, final) else final
        CLAIMS.renamed(entry, kept)
        self._prune(self.folder.glob("*/*/inputs.json"))
        return kept / "capture"

    def set_apart(self, capture: Path, target: str) -> Path:
        """Move a finished capture to a place of its own, where no later run finds it, and return that."""
        folder = self._places.writable(self._say) / "captures"
        folder.mkdir(exist_ok=True)
        own = made(folder, f"{target.replace(':', '-')}-")
        shutil.move(capture, own / "capture")
        self._prune(folder.glob(f"*/capture/{MANIFEST}"), depth=2)
        return own / "capture"

    def fresh(self) -> Path:
        """A path for a new capture on the same file system. What runs left half done that have died is removed."""
        for pattern in ("run-*", "new-*", "try-*"):
            for left in self.folder.glob(pattern):
                _forgotten(left)
        return made(self.folder, "run-") / "capture"

    def _whole(self, entry: Path) -> bool:
        try:
            read_capture(entry / "capture")
        except ContractLintError as error:
            if (entry / "capture" / MANIFEST).is_file():
                place = Path(error.location.path).relative_to(entry) if error.location else "capture"
                self._say(f"a kept capture is damaged and not used again ({place}: {error.message})")
                CLAIMS.drop(entry)
                shutil.rmtree(entry, ignore_errors=True)
            return False
        return True

    def _prune(self, marks: Iterable[Path], depth: int = 1) -> None:
        """Remove all but the youngest entries, and none that somebody uses. An entry is found by a file in it."""
        entries = sorted((mark.parents[depth - 1] for mark in marks), key=_modified, reverse=True)
        for entry in entries[KEPT:]:
            _forgotten(entry)


def _replaced(entry: Path, final: Path) -> bool:
    """Rename an entry to its final name, where what is there has just been found not to be whole."""
    shutil.rmtree(final, ignore_errors=True)
    with contextlib.suppress(OSError):  # another run was faster: this one keeps the name it has
        entry.rename(final)
        return True
    return False


def _forgotten(entry: Path) -> None:
    """Remove an entry that nobody claims; one that never was, once nobody can be at work on it any more."""
    if not (entry / LOCK).exists() and time.time() - _modified(entry) > ABANDONED:
        shutil.rmtree(entry, ignore_errors=True)
    discarded(entry)


def _modified(path: Path) -> float:
    """When a path was last changed; long ago where another run has just removed it."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def file_digest(path: str | Path) -> str | None:
    """sha256 of a file, None where it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _read(inputs: Path) -> dict[str, str] | None:
    try:
        digests = json.loads(inputs.read_text())
    except (OSError, ValueError):
        return None
    return digests if isinstance(digests, dict) else None


def _unchanged(inputs: Path) -> bool:
    digests = _read(inputs)
    return digests is not None and all(file_digest(path) == digest for path, digest in digests.items())
