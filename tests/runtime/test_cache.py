"""The cache of captures: with other runs at work in it, with damage in it, and where a project takes nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.manifest import CAPTURE_SCHEMA, Manifest, Provenance
from contract_lint.runtime import cache as module
from contract_lint.runtime import cache_places as places
from contract_lint.runtime.cache import ABANDONED, CaptureCache
from contract_lint.runtime.cache_places import CachePlaces
from contract_lint.runtime.folders import CLAIMS, LOCK


class Told(list[str]):
    """The lines that a person was told."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test writes to the cache of the person who runs it."""
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def cache_of(project: Path, told: Told | None = None, chosen: Path | None = None) -> CaptureCache:
    return CaptureCache(CachePlaces(project, chosen), None if told is None else told.append)


def written(folder: Path, text: str) -> Path:
    """A whole capture of no step, with one file."""
    folder.mkdir()
    (folder / "file").write_text(text)
    manifest = Manifest(
        schema_version=CAPTURE_SCHEMA,
        provenance=Provenance(tool="0", python="3", contract_digest="0" * 64, target="cpu:1"),
        devices=1,
        device_kind="cpu",
        mesh=None,
        steps=[],
        files={"file": hashlib.sha256(text.encode()).hexdigest()},
    )
    (folder / "manifest.json").write_text(manifest.model_dump_json())
    return folder


def stored(cache: CaptureCache, text: str = "text") -> Path:
    return cache.store("key", written(cache.fresh(), text), [])


def test_a_capture_that_another_run_stored_first_is_kept(project: Path) -> None:
    """Somebody may be reading it, and it was made from the same files."""
    cache = cache_of(project)
    first = stored(cache)
    inode = (first / "manifest.json").stat().st_ino
    assert stored(cache, "other") == first
    assert (first / "manifest.json").stat().st_ino == inode
    assert not list(cache.folder.glob("new-*"))


def test_half_a_stored_capture_is_replaced(project: Path) -> None:
    cache = cache_of(project)
    first = stored(cache)
    (first / "manifest.json").unlink()
    assert cache.find("key") is None
    assert stored(cache) == first and cache.find("key") == first


@pytest.mark.parametrize("damage", ["changed", "cut manifest", "missing", "no JSON", "cut inputs"])
def test_a_damaged_capture_is_dropped_and_made_again(project: Path, damage: str) -> None:
    told = Told()
    cache = cache_of(project, told)
    first = stored(cache)
    if damage == "changed":
        (first / "file").write_text("taxt")
    elif damage == "cut manifest":
        (first / "manifest.json").write_text((first / "manifest.json").read_text()[:90])
    elif damage == "missing":
        (first / "file").unlink()
    elif damage == "no JSON":
        (first / "manifest.json").write_bytes(b"\xff\x00")
    else:
        (first.parent / "inputs.json").write_text("{")
    assert cache.find("key") is None
    said = [] if damage == "cut inputs" else ["a kept capture is damaged and not used again ("]
    assert [line[: len(said[0])] for line in told] == said
    assert stored(cache) == first
    assert cache.find("key") == first and len(told) == len(said)


def test_a_damaged_capture_that_cannot_be_removed_is_not_used(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    cache = cache_of(project, told)
    (stored(cache) / "file").write_text("taxt")
    monkeypatch.setattr(module.shutil, "rmtree", lambda *_, **__: None)
    assert cache.find("key") is None and cache.find("key") is None and len(told) == 2


def test_what_killed_runs_left_is_removed(project: Path) -> None:
    """At once where the lock says so, after a day where an earlier version has left no lock."""
    code = "import os, sys; from contract_lint.runtime.folders import made; from pathlib import Path\n"
    code += "print(made(Path(sys.argv[1]), 'run-')); sys.stdout.flush(); os._exit(1)"
    cache = cache_of(project)
    living = cache.fresh().parent
    done = subprocess.run([sys.executable, "-c", code, str(cache.folder)], capture_output=True, text=True)
    dead = Path(done.stdout.strip())
    old, young = cache.folder / "run-old", cache.folder / "new-young"
    for folder in (old, young):
        folder.mkdir()
    before = old.stat().st_mtime - ABANDONED - 60
    os.utime(old, (before, before))
    assert dead.is_dir()
    cache.fresh()
    assert not dead.exists() and not old.exists() and young.is_dir() and living.is_dir()


def test_the_oldest_go_but_none_that_is_used(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    cache = cache_of(project)
    kept = []
    for number in range(4):
        kept.append(cache.store(f"key{number}", written(cache.fresh(), "text"), []))
        os.utime(kept[-1].parent, (number, number))
    assert all(path.is_dir() for path in kept), "this process may still read them"
    for path in kept:
        CLAIMS.drop(path.parent)
    stored(cache)
    assert [path.is_dir() for path in kept] == [False, False, False, True]


def test_captures_set_apart_are_each_their_own(project: Path) -> None:
    cache = cache_of(project)
    one, two = (cache.set_apart(written(cache.fresh(), text), "cpu:8") for text in ("one", "two"))
    assert ((one / "file").read_text(), (two / "file").read_text()) == ("one", "two")
    assert one.parent.name.startswith("cpu-8-") and cache.find("key") is None


def unwritable(project: Path) -> None:
    """A file where the folder should be: it stops root too, as a file system that may only be read does."""
    (project / ".contract-lint").write_text("")


def test_a_project_that_takes_nothing_has_a_place_in_the_users_cache(project: Path, home: Path) -> None:
    unwritable(project)
    told = Told()
    cache = cache_of(project, told)
    first = stored(cache)
    assert first.is_relative_to(home / ".cache" / "contract-lint")
    assert first.relative_to(home / ".cache" / "contract-lint").parts[0].startswith("project-")
    assert told[0].startswith("captures and records are kept in ~/.cache/contract-lint/project-") and len(told) == 1
    assert "(File exists)" in told[0] or "(Not a directory)" in told[0]
    assert cache_of(project).find("key") == first


def test_the_users_cache_may_be_named(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    unwritable(project)
    assert stored(cache_of(project)).is_relative_to(tmp_path / "xdg" / "contract-lint")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/invalid")
    assert ".cache" in stored(cache_of(project)).parts


def test_where_nothing_takes_captures_a_temporary_folder_does(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwritable(project)
    home.write_text("")
    ends = []
    monkeypatch.setattr(places.atexit, "register", lambda *call: ends.append(call))
    told = Told()
    first = stored(cache_of(project, told))
    [(remove, folder)] = ends
    assert first.is_relative_to(folder) and "until this command ends" in told[0] and "--cache-dir" in told[0]
    remove(folder)
    assert not first.exists()


def test_what_a_project_keeps_is_found_though_it_takes_nothing_new(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = stored(cache_of(project))
    told = Told()
    cache = cache_of(project, told)
    monkeypatch.setattr(places, "_prepared", lambda folder: "cannot be written to")
    assert cache.find("key") == first and not told


def test_a_chosen_folder_holds_several_projects(project: Path, tmp_path: Path) -> None:
    chosen, other = tmp_path / "chosen", tmp_path / "other" / "project"
    other.mkdir(parents=True)
    one, two = stored(cache_of(project, chosen=chosen)), stored(cache_of(other, chosen=chosen), "more")
    assert one != two and one.is_relative_to(chosen) and two.is_relative_to(chosen)
    assert not (project / ".contract-lint").exists()
    shutil.rmtree(chosen)
    chosen.write_text("")
    with pytest.raises(ContractLintError, match="cannot be written to") as caught:
        stored(cache_of(project, chosen=chosen))
    assert str(caught.value).startswith(chosen.as_posix()) and "--cache-dir" in str(caught.value)


def test_a_cache_that_is_removed_while_it_is_used_is_made_again(project: Path) -> None:
    cache = cache_of(project)
    shutil.rmtree(stored(cache).parents[3])
    assert stored(cache).is_dir() and (project / ".contract-lint" / ".gitignore").read_text() == "*\n"


def test_claims_are_beside_the_capture_not_in_it(project: Path) -> None:
    first = stored(cache_of(project))
    assert (first.parent / LOCK).is_file() and sorted(os.listdir(first)) == ["file", "manifest.json"]
