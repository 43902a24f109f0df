"""Content exchanged: whatever else there is about a file stays, and no half of it is ever there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from contract_lint.linters import rewrite as module
from contract_lint.linters.rewrite import rewrite

OLD, NEW = b"old\n" * 40, b"new\n" * 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.py"
    made.write_bytes(OLD)
    made.chmod(0o751)
    return made


def test_mode_and_time(path: Path) -> None:
    os.utime(path, (1, 1))
    rewrite(str(path), NEW)
    about = path.stat()
    assert path.read_bytes() == NEW and stat.S_IMODE(about.st_mode) == 0o751 and about.st_mtime > 1


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    rewrite(str(tmp_path / "new"), NEW)
    assert (tmp_path / "new").read_bytes() == NEW
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_links_lead_where_they_led(path: Path, tmp_path: Path) -> None:
    os.symlink("a.py", tmp_path / "soft.py")
    os.symlink("to_be_made", tmp_path / "ahead")
    rewrite(str(tmp_path / "soft.py"), NEW)
    rewrite(str(tmp_path / "ahead"), NEW)
    assert os.readlink(tmp_path / "soft.py") == "a.py" and path.read_bytes() == NEW
    assert os.readlink(tmp_path / "ahead") == "to_be_made" and (tmp_path / "to_be_made").read_bytes() == NEW


@pytest.mark.parametrize("new", [NEW, OLD * 2])
def test_all_names_of_a_file_stay_one_file(new: bytes, path: Path, tmp_path: Path) -> None:
    os.link(path, tmp_path / "hard.py")
    rewrite(str(path), new)
    assert path.samefile(tmp_path / "hard.py") and path.read_bytes() == new
    assert stat.S_IMODE(path.stat().st_mode) == 0o751 and sorted(os.listdir(tmp_path)) == ["a.py", "hard.py"]


@pytest.mark.parametrize("mode", [0o444, 0o555])
def test_what_is_read_only_stays_as_it_is(mode: int, path: Path, tmp_path: Path) -> None:
    path.chmod(mode)
    with pytest.raises(PermissionError, match="read-only"):
        rewrite(str(path), NEW)
    assert path.read_bytes() == OLD and os.listdir(tmp_path) == ["a.py"]


def test_a_file_in_a_folder_that_takes_no_new_ones(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refusing(name: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "no new files", name)
        return opened(name, flags, mode)

    monkeypatch.setattr(module.os, "open", refusing)
    rewrite(str(path), NEW)
    assert path.read_bytes() == NEW
    with pytest.raises(PermissionError, match="no new files"):
        rewrite(f"{path}.new", NEW)


def test_an_owner_that_cannot_be_given_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.stat()

    def refused(*_: object) -> None:
        raise PermissionError

    class Other:
        """What the file system says of a file of somebody else."""

        st_uid, st_gid, st_nlink, st_mode = before.st_uid + 1, before.st_gid, 1, before.st_mode

    monkeypatch.setattr(module.os, "chown", refused)
    real = os.stat
    monkeypatch.setattr(module.os, "stat", lambda name, **more: Other if name == str(path) else real(name, **more))
    rewrite(str(path), NEW)
    monkeypatch.undo()
    assert path.read_bytes() == NEW and path.stat().st_ino == before.st_ino


@pytest.mark.parametrize("names", [1, 2])
def test_whatever_fails_the_old_content_is_there(
    names: int, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if names == 2:
        os.link(path, tmp_path / "hard.py")
    synced = os.fsync
    seen: list[int] = []

    def interrupted(handle: int) -> None:
        seen.append(handle)
        if len(seen) == names:
            raise KeyboardInterrupt
        synced(handle)

    monkeypatch.setattr(module.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rewrite(str(path), NEW)
    assert path.read_bytes() == OLD and len(os.listdir(tmp_path)) == names
