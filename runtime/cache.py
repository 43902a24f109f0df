"""Captures kept by content: one is used again while every file it was made from, and every version, is the same."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from ..contracts.errors import ContractLintError
from .request import ChildRequest

FOLDER = ".contract-lint"
KEPT = 32
"""Captures kept in one cache; the oldest go first."""
ABANDONED = 24 * 3600.0
"""Seconds after which what a killed run left half done is removed."""

_INSTALLED = (
    "sorted({name for folder in sys.path if os.path.isdir(folder) for name in os.listdir(folder)"
    " if name.endswith(('.dist-info', '.egg-info', '.egg-link'))})"
)


def tool_folder(root: Path) -> Path:
    """`.contract-lint` below the project root, made on first use and kept out of version control by itself."""
    folder = root / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise ContractLintError(f"cannot write to {FOLDER} in the project root: {error.strerror}") from None
    return folder


def installed_versions(python: str | None) -> list[str]:
    """Names of the installed distributions with their versions, as their metadata folders are called."""
    if python is None or Path(python) == Path(sys.executable):
        return eval(_INSTALLED, {"sys": sys, "os": os})
    code = f"import json, os, sys; print(json.dumps({_INSTALLED}))"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ContractLintError(f"cannot run {python}: {error}") from None


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
    """The cache of one project: `<root>/.contract-lint/cache/<request key>/<sources>/{capture,inputs.json}`."""

    def __init__(self, root: Path) -> None:
        self.folder = tool_folder(root) / "cache"

    def find(self, key: str) -> Path | None:
        """A finished capture whose inputs are all unchanged."""
        for inputs in sorted((self.folder / key).glob("*/inputs.json")):
            capture = inputs.parent / "capture"
            if (capture / "manifest.json").is_file() and _unchanged(inputs):
                with contextlib.suppress(OSError):  # on a cache that may only be read, or just pruned by another run
                    os.utime(inputs.parent)
                return capture
        return None

    def store(self, key: str, capture: Path, inputs: Iterable[str]) -> Path:
        """Take a finished capture over (the folder is moved) and return its new place."""
        digests = {path: digest for path in inputs if (digest := file_digest(path)) is not None}
        name = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()[:16]
        (self.folder / key).mkdir(parents=True, exist_ok=True)
        entry = Path(tempfile.mkdtemp(prefix="new-", dir=self.folder))
        shutil.move(capture, entry / "capture")
        (entry / "inputs.json").write_text(json.dumps(digests, indent=0, sort_keys=True))
        final = self.folder / key / name
        if not (final / "capture" / "manifest.json").is_file():
            shutil.rmtree(final, ignore_errors=True)
            with contextlib.suppress(OSError):
                entry.rename(final)
        # Another run may have stored the same, and somebody may be reading it: it stays.
        shutil.rmtree(entry, ignore_errors=True)
        self._prune()
        return final / "capture"

    def fresh(self) -> Path:
        """A path for a new capture on the same file system."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in (*self.folder.glob("run-*"), *self.folder.glob("new-*")):
            if time.time() - _modified(left) > ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix="run-", dir=self.folder)) / "capture"

    def _prune(self) -> None:
        entries = sorted(self.folder.glob("*/*/inputs.json"), key=lambda p: _modified(p.parent), reverse=True)
        for inputs in entries[KEPT:]:
            shutil.rmtree(inputs.parent, ignore_errors=True)


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


def _unchanged(inputs: Path) -> bool:
    try:
        digests = json.loads(inputs.read_text())
    except (OSError, ValueError):
        return False
    return isinstance(digests, dict) and all(file_digest(path) == digest for path, digest in digests.items())
