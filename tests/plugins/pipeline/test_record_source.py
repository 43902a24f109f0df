"""What a record says of its source, and where git says nothing, why: as it is, in every state of a repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from contract_lint.plugins.pipeline.record import git as asked
from contract_lint.plugins.pipeline.record.source_state import git_author, source_state


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit inside of another one."""
    folder = tmp_path / "outer/inner"
    folder.mkdir(parents=True)
    for each in (folder.parent, folder):
        git(each, "init", "-q")
        (each / "a.py").write_text("x = 1\n")
        git(each, "add", "a.py")
        git(each, "commit", "-q", "-m", "one")
    return folder


def remove(path: Path) -> None:
    path.unlink()


DAMAGE: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: (folder / ".git/HEAD").write_text("nonsense\n"), ".git for no repository: it is damaged"),
    (lambda folder: remove(folder / ".git/HEAD"), ".git for no repository: it is damaged"),
    (lambda folder: (folder / ".git/refs").rename(folder / ".git/gone"), ".git for no repository: it is damaged"),
    (lambda folder: (folder / ".git/refs/heads/main").write_text("0" * 39 + "\n"), "appears to be broken"),
    (lambda folder: remove(folder / ".git/refs/heads/main"), "does not have any commits yet"),
    (lambda folder: (folder / ".git/refs/heads/main").write_text("1" * 40 + "\n"), "git says: bad object HEAD"),
    (lambda folder: (folder / ".git/config").write_text("[[[\n"), "git says: bad config line 1"),
]


@pytest.mark.parametrize(("damage", "why"), DAMAGE)
def test_a_damaged_repository_is_told_and_no_other_one_is_named(
    repository: Path, damage: Callable[[Path], object], why: str
) -> None:
    whole = source_state(repository)
    assert (whole.commit, whole.dirty, whole.undigested) == (git(repository, "rev-parse", "HEAD"), False, None)
    damage(repository)
    found = source_state(repository)
    assert found.commit is None and found.dirty is None and why in (found.undigested or ""), found


def test_where_there_is_no_repository_or_no_git(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "none/.git").mkdir(parents=True)  # an empty folder of that name is none of git's
    assert source_state(tmp_path / "none").undigested == "the contract lies in no git repository"
    (repository / "sub/.git").mkdir(parents=True)
    assert source_state(repository / "sub").commit == git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert source_state(repository).undigested == "there is no `git` on PATH" and git_author(repository) is None
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    monkeypatch.setattr(asked, "_PATIENCE", 0.1)
    assert source_state(repository).undigested == "git took more than 0 seconds"


def test_an_untracked_link_is_held_by_its_text_and_not_followed(repository: Path) -> None:
    link = repository / "run"
    (repository.parent / "big").mkdir()
    texts = ["../big", "../gone", "a.py", "run"]
    found = []
    for text in texts:
        link.symlink_to(text)
        found.append(source_state(repository))
        link.unlink()
    link.write_text("../big")  # a file that holds the text of a link is no link
    found.append(source_state(repository))
    assert {(each.dirty, each.undigested) for each in found} == {(True, None)}
    assert len({each.dirty_digest for each in found} - {None}) == len(found)
    link.unlink()
    link.symlink_to("../big")
    (repository.parent / "big/x").write_text("x")
    assert source_state(repository) == found[0]
    link.unlink()
    os.mkfifo(link)  # git lists no pipe
    assert source_state(repository).dirty is False


def test_a_commit_whose_files_cannot_be_compared_is_kept_with_the_reason(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    blob = git(repository, "rev-parse", "HEAD:a.py")
    (repository / "a.py").write_text("x = 2\n")
    (repository / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    found = source_state(repository)
    assert (found.commit, found.dirty) == (commit, None) and "git says: " in (found.undigested or "")
