"""Folders of running processes are left alone, those of dead ones go, and nothing else is touched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.runtime import folders
from contract_lint.runtime.folders import CLAIMS, LOCK, PREFIX, discarded, made, removed, sweep, temporary_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
DIES = """
import os, sys
from pathlib import Path
from contract_lint.runtime.folders import made
folder = made(Path(sys.argv[1]), "contract-lint-")
(folder / "inner").mkdir()
(folder / "inner" / "file").write_text("left")
print(folder, flush=True)
if sys.argv[2] == "lives":
    sys.stdin.read()
os._exit(1)
"""


def owner(parent: Path, how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DIES, str(parent), how]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_only_those_of_dead_owners_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    dead, living = owner(tmp_path, "dies"), owner(tmp_path, "lives")
    assert dead.stdout is not None and living.stdout is not None
    left, used = Path(dead.stdout.readline().strip()), Path(living.stdout.readline().strip())
    dead.communicate()
    other = tmp_path / f"{PREFIX}main"  # somebody's clone of this project
    other.mkdir()
    (other / "file").write_text("theirs")
    assert left.is_dir()
    with temporary_folder() as own:
        assert own.parent == tmp_path and own.is_dir()
        assert not left.exists() and used.is_dir() and (other / "file").is_file()
    assert not own.exists()
    living.communicate()
    sweep(tmp_path, f"{PREFIX}*")
    assert list(tmp_path.iterdir()) == [other]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = made(tmp_path, PREFIX)
    CLAIMS.drop(folder)
    link = tmp_path / f"{PREFIX}link"
    link.symlink_to(folder)
    assert not discarded(link) and (folder / LOCK).is_file()
    assert discarded(folder)


def test_a_claim_goes_with_the_folder(tmp_path: Path) -> None:
    folder, new = made(tmp_path, PREFIX), tmp_path / "new"
    folder.rename(new)
    CLAIMS.renamed(folder, new)
    assert not discarded(new)
    removed(new)
    assert not new.exists()


def test_a_claim_is_not_got_on_what_is_being_removed(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    assert not CLAIMS.take(folder)
    folder.mkdir()
    assert CLAIMS.take(folder) and CLAIMS.take(folder)
    removed(folder)


def test_no_more_descriptors_than_a_few_are_held(tmp_path: Path) -> None:
    made_here = [made(tmp_path, PREFIX) for _ in range(folders.MOST_CLAIMS + 3)]
    assert [discarded(folder) for folder in made_here[:4]] == [True, True, True, False]
    for folder in made_here:
        removed(folder)
