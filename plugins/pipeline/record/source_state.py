"""What is checked out in git: the commit, and one digest of all that differs from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from ....contracts.errors import ContractLintError
from ....contracts.model import format_bytes
from ....contracts.record import Author, SourceState
from ....linters.record.files import digest_below, link_below, size_below
from .git import GitError, commit_of, git, work_tree
from .outputs import without_outputs

MOST_UNTRACKED = 64 * 1024**2
"""Bytes of one file that is not tracked. Larger ones are data, and no part of the source."""
MOST_FILES = 2_000


def source_state(folder: Path, results: Iterable[Path] = ()) -> SourceState:
    """The source that `folder` lies in; without a commit where git names none, and then why.

    The digest is over the binary difference to the commit and each untracked file that is not ignored, by path; of a
    link over its text, as git does it. What runs wrote is left out (`outputs`), and so are `results`: files and folders
    that the record binds as such.
    """
    try:
        root = work_tree(folder)
        name = commit_of(root)
    except GitError as error:
        return SourceState(undigested=str(error)[:500])
    try:
        difference = git(root, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv", "--no-color")
        listed = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    except GitError as error:
        return SourceState(commit=name, undigested=str(error)[:500])
    found = sorted(path for path in listed.decode("utf-8", "surrogateescape").split("\0") if path)
    untracked = without_outputs(root, found, results)
    if not difference and not untracked:
        return SourceState(commit=name, dirty=False)
    digest = hashlib.sha256(difference)
    why = _untracked(digest, root, untracked)
    if why is not None:
        return SourceState(commit=name, dirty=True, undigested=why[:500])
    return SourceState(commit=name, dirty=True, dirty_digest=digest.hexdigest())


def git_author(folder: Path) -> Author | None:
    """Who git says works there."""
    name, email = (_configured(folder, each) for each in ("user.name", "user.email"))
    return Author(name=name[:500], email=email[:500] or None) if name else None


def _configured(folder: Path, key: str) -> str:
    try:
        return git(folder, "config", key).decode("utf-8", "replace").strip()
    except GitError:
        return ""


def _untracked(digest: hashlib._Hash, root: Path, paths: list[str]) -> str | None:
    """Add files that git does not know; why they cannot be, else None."""
    if len(paths) > MOST_FILES:
        return f"{len(paths):,} files are not tracked"
    for path in paths:
        shown = path.encode("utf-8", "replace").decode()
        try:
            link = link_below(root, path)
            if link is not None:
                digest.update(f"link {link.sha256} {path}\n".encode())
                continue
            size = size_below(root, path)
            if size is not None and size > MOST_UNTRACKED:
                return f"{shown} is not tracked and has {format_bytes(size)}"
            found = digest_below(root, path)
        except (ContractLintError, ValueError) as error:
            said = error.message if isinstance(error, ContractLintError) else "its name is not UTF-8"
            return f"{shown}, which is not tracked: {said}"
        digest.update(f"{found.sha256 if found is not None else 'gone'} {path}\n".encode())
    return None
