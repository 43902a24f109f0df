"""A record where there is no room for it: one sentence, exit code 2, and nothing is left of it."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from contract_lint.runtime import cache_places

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CREATE = ("record", "create", "c.contract.yaml", "--metrics", "m.jsonl", "--fail-on", "never")


@pytest.fixture
def project(tmp_path: Path, contract_text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "c.contract.yaml").write_text(contract_text)
    (tmp_path / "m.jsonl").write_text('{"loss": 1}\n')
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file may be written that is larger: the system ends the write within the file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def files(project: Path) -> list[str]:
    there = sorted(path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file())
    return [path for path in there if path not in ("c.contract.yaml", "m.jsonl")]


@pytest.mark.parametrize("out", [(), ("-o", "out")])
def test_a_record_that_does_not_fit_is_refused_whole(cli: Run, project: Path, out: tuple[str, ...]) -> None:
    with room(1000):
        done = cli(*CREATE, *out)
    place = "out" if out else ".contract-lint/records"
    assert done.returncode == 2 and done.stdout == "", done
    assert f"error: {place}: no record can be written there: File too large" in done.stderr
    assert files(project) == ([] if out else [".contract-lint/.gitignore"])
    assert cli(*CREATE, *out).returncode == 0
    (record,) = (project / place).iterdir()
    assert record.stat().st_size > 1000 and cli("record", "verify", str(record)).returncode == 0


def test_where_nothing_at_all_fits_no_empty_file_keeps_git_from_ignoring_records_later(
    cli: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_places.cache_places.cache_clear()
    with room(0):
        done = cli(*CREATE)
    assert done.returncode == 2 and "can be written to" in done.stderr and files(project) == [], done
    cache_places.cache_places.cache_clear()
    assert cli(*CREATE).returncode == 0
    assert (project / ".contract-lint/.gitignore").read_text() == "*\n"


def test_on_a_full_disk_it_says_to_make_room(cli: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    (project / "out").mkdir()
    monkeypatch.setattr(Path, "write_text", full)
    done = cli(*CREATE, "-o", "out")
    assert done.returncode == 2 and "out: no record can be written there: No space left on device" in done.stderr
    assert "help: make room there, or name another folder with -o" in done.stderr
