"""Folders that belong to a running process: locked while it lives, and removed by a later run if it died before."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "contract-lint-"
LOCK = ".contract-lint-in-use"
"""The file in such a folder whose lock its owners hold; a folder without it was not made here and is never removed."""
MOST_CLAIMS = 64
"""Folders claimed at a time: each takes a file descriptor."""
_TRIES = 8


class Claims:
    """Locks that this process holds on folders it uses. They end with the process, however that ends."""

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}

    def take(self, folder: Path) -> bool:
        """Claim a folder; others may too. False where one that removes it came first, or it takes no lock file."""
        if sys.platform == "win32" or folder in self._held:
            return True
        try:
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        if _locked(descriptor, exclusive=False) is False or os.fstat(descriptor).st_nlink == 0:
            os.close(descriptor)
            return False
        self._held[folder] = descriptor
        if len(self._held) > MOST_CLAIMS:
            self.drop(next(iter(self._held)))
        return True

    def drop(self, folder: Path) -> None:
        """Give a claim up."""
        descriptor = self._held.pop(folder, None)
        if descriptor is not None:
            os.close(descriptor)

    def renamed(self, old: Path, new: Path) -> None:
        """A claimed folder was given another name."""
        if old in self._held:
            self._held[new] = self._held.pop(old)


CLAIMS = Claims()


def made(parent: Path, prefix: str) -> Path:
    """A new folder that this process has claimed. Raises OSError where none can be made."""
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        if CLAIMS.take(folder):
            return folder
        _cleared(folder)
    raise OSError(f"no folder can be locked in {parent}")


def removed(folder: Path) -> None:
    """Remove a folder and the claim on it. What cannot be removed now is left to a later run."""
    for _ in range(3):
        if _cleared(folder):
            break
        time.sleep(0.05)  # a process that was killed a moment ago may have finished a write
    CLAIMS.drop(folder)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for the time of a `with` block. Those of processes that died are removed first."""
    parent = Path(tempfile.gettempdir())
    sweep(parent, f"{PREFIX}*")
    folder = made(parent, PREFIX)
    try:
        yield folder
    finally:
        removed(folder)


def sweep(parent: Path, pattern: str) -> None:
    """Remove the folders of this user below `parent` that were claimed once and are no more."""
    with contextlib.suppress(OSError):
        for folder in parent.glob(pattern):
            discarded(folder)


def discarded(folder: Path) -> bool:
    """Remove a folder of this user that has a lock file which nobody holds; whether it was."""
    if sys.platform == "win32":
        return False
    try:
        about = os.lstat(folder)
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
            return False
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return bool(_locked(descriptor, exclusive=True)) and _cleared(folder)
    finally:
        os.close(descriptor)


def _cleared(folder: Path) -> bool:
    """Remove a folder, its lock file last: one that is not empty yet can then be swept. Whether it is gone."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != LOCK:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
        if [entry.name for entry in os.scandir(folder)] in ([], [LOCK]):
            shutil.rmtree(folder, ignore_errors=True)
    return not os.path.lexists(folder)


def _locked(descriptor: int, exclusive: bool) -> bool | None:
    """Whether the lock was got; None on a file system that has no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
