"""Where a save is killed, on savers of several kinds: what is on disk then, and where the kill was said to be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.resume import OF_WRITES, KillPoint, SaveSeen

CHILD = Path(__file__).parent / "children" / "killed.py"


def killed(folder: Path, saver: str, point: str) -> tuple[SaveSeen, str | None]:
    """What the first save was heard to do, and the file that the second was killed at."""
    done = subprocess.run([sys.executable, str(CHILD), str(folder), saver, point], capture_output=True, text=True)
    assert done.returncode == (0 if point == "none" else -9), done.stderr[-2000:]
    heard, *at = done.stdout.splitlines()
    return SaveSeen.model_validate_json(heard), at[0] if at else None


def there(folder: Path) -> dict[str, bool]:
    """The files of step 2, and whether something is in them."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).as_posix()[0] == "2"]
    return {path.relative_to(folder).as_posix(): path.stat().st_size > 0 for path in files}


@pytest.mark.parametrize(
    ("saver", "point", "at", "left"),
    [
        ("renamed", "before the commit", "2", {"2.partial/arrays.npz": True, "2.partial/about.json": True}),
        ("pointed", "before the commit", "latest", {"2/arrays.npz": True, "2/about.json": True}),
        ("both", "before its last rename", "latest", {"2/arrays.npz": True, "2/about.json": True}),
        ("bare", "at its first write", "2/arrays.npz", {"2/arrays.npz": False}),
        ("bare", "before its last write", "2/about.json", {"2/arrays.npz": True}),
        ("bare", "at its last write", "2/about.json", {"2/arrays.npz": True, "2/about.json": False}),
        ("marked", "before its last write", "2/DONE", {"2/arrays.npz": True, "2/about.json": True}),
        ("flat", "at its first write", "2.npz", {"2.npz": False}),
    ],
)
def test_a_kill_is_where_it_is_said_to_be(
    tmp_path: Path, saver: str, point: KillPoint, at: str, left: dict[str, bool]
) -> None:
    heard, found = killed(tmp_path, saver, point)
    assert point in heard.points and (found, there(tmp_path)) == (at, left)


def test_a_folder_behind_a_link_is_heard(tmp_path: Path) -> None:
    """Where temporary files lie may be one, and a saver may call it as it is or as it was told."""
    for name in ("real", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("real")
    heard = killed(tmp_path / "link", "renamed", "before the commit")
    assert heard == killed(tmp_path / "other", "renamed", "before the commit") and heard[1] == "2"


def test_a_child_that_saves_is_not_killed(tmp_path: Path) -> None:
    command = [sys.executable, str(CHILD), str(tmp_path), "forked", "before the commit"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("not killed\n"), done.stderr[-2000:]


def test_what_native_code_writes_has_no_points(tmp_path: Path) -> None:
    assert killed(tmp_path, "unheard", "none")[0].points == ()


def test_a_save_is_killed_where_it_can_be_torn() -> None:
    orbax = SaveSeen(commits=("1",), items=2, background=True, files=6, folders=3)
    assert orbax.points[:3] == ("before the commit", "between items", "while it finalises")
    one_item = orbax.model_copy(update={"items": 1})
    assert one_item.points[:3] == ("before the commit", "while it finalises", "at its first write")
    assert SaveSeen(items=4, files=4, folders=1).points == (*OF_WRITES, "between items")
    assert SaveSeen(files=1).points == SaveSeen(folders=2).points == ("at its first write",)
