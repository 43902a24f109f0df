"""What git says of a folder; where it says nothing, why."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_PATIENCE = 20.0
"""Seconds that git may take."""


class GitError(Exception):
    """Git did not say what it was asked. The text says why, as the end of a sentence."""


def git(folder: Path, *arguments: str) -> bytes:
    """What git writes. Raises GitError."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise GitError("there is no `git` on PATH") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git took more than {_PATIENCE:.0f} seconds") from None
    except (OSError, ValueError) as error:
        raise GitError(f"git cannot be started ({getattr(error, 'strerror', None) or error})") from None
    if done.returncode:
        raise GitError(f"git says: {_first_line(done.stderr) or f'nothing, and exits with {done.returncode}'}")
    return done.stdout


def work_tree(folder: Path) -> Path:
    """The top of the work tree that `folder` lies in. Raises GitError, and so for a `.git` that git passes over."""
    holder = next((each for each in (folder, *folder.parents) if _holds(each / ".git")), None)
    passed_over = (
        f"git takes {os.path.relpath(holder / '.git', folder) if holder else ''} for no repository: it is damaged"
    )
    try:
        top = Path(git(folder, "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").strip())
    except GitError as error:
        if "not a git repository" not in str(error):
            raise
        raise GitError(passed_over if holder else "the contract lies in no git repository") from None
    if holder is not None and "GIT_DIR" not in os.environ and not top.samefile(holder):
        raise GitError(passed_over)
    return top


def commit_of(top: Path) -> str:
    """What is checked out. Raises GitError."""
    try:
        return git(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").decode("ascii", "replace").strip()
    except GitError:
        git(top, "log", "-1", "--format=%H")  # it knows why: no commit yet, a broken branch, an object that is gone
        raise


def _holds(place: Path) -> bool:
    """Whether there is a `.git` with something in it: an empty folder of that name is none of git's."""
    try:
        return place.is_file() or (place.is_dir() and any(place.iterdir()))
    except OSError:
        return True


def _first_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    line = next((each for each in lines if each.startswith("fatal: ")), lines[0] if lines else "")
    return line.removeprefix("fatal: ").removeprefix("error: ")[:300]
