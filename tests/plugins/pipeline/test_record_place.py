"""Which record is meant: of which project, and which is the latest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.record import Record
from contract_lint.plugins.pipeline.record.history import history
from contract_lint.plugins.pipeline.record.place import find, kept, project_here, records_folder, root_of
from contract_lint.plugins.pipeline.record.verify import verify_record

from ...linters.record.small_record import small

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.fixture(autouse=True)
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def keep(root: Path, *records: Record) -> list[Path]:
    return [kept(root / ".contract-lint/records", record) for record in records]


def test_the_latest_is_the_one_that_was_made_last_whatever_was_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    late, early = keep(tmp_path, small(created=LATE), small(created=EARLY))
    for newest in (early, late):
        for path in (early, late):
            os.utime(path, (1.0, 2.0 if path == newest else 1.0))
        assert find("latest") == late
    same = keep(tmp_path, small(created=LATE, conclusion="of the same second, written later"))
    os.utime(same[0], (1.0, 3.0))
    assert find("latest") == same[0]
    assert [row.file for row in history().rows] == [early.name, late.name, same[0].name]
    os.utime(same[0], (1.0, 0.5))
    assert find("latest") == late
    assert [row.file for row in history().rows] == [early.name, same[0].name, late.name]
    same[0].unlink()
    for damaged in ("[", '{"predicate": {"created": "yesterday"}}'):  # says nothing of when it was made
        late.write_text(damaged)
        assert find("latest") == early


def test_records_are_those_of_the_project_that_the_folder_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (record,) = keep(tmp_path, small())
    deep = tmp_path / "src" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert project_here() == root_of(tmp_path / "elsewhere.record.json") == tmp_path.resolve()
    assert find("latest").name == record.name
    (tmp_path / "src" / "pyproject.toml").touch()  # a project of its own, without records
    assert project_here() == deep.resolve()


def kept_for(root: Path, record: Record) -> Path:
    """A record where the project takes none: in the user's cache folder."""
    root.mkdir(parents=True)
    (root / ".contract-lint").touch()
    return kept(records_folder(root, None, lambda _: None), record)


def test_records_in_the_users_cache_are_found_from_a_folder_below_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = tmp_path / "one" / "u", tmp_path / "other" / "u"
    record = kept_for(project, small())
    for folder in (project / "src" / "deep", other):
        folder.mkdir(parents=True)
    monkeypatch.chdir(project / "src" / "deep")
    assert find("latest") == record
    assert [row.file for row in history().rows] == [record.name]
    monkeypatch.chdir(other)
    assert history().rows == ()
    with pytest.raises(ContractLintError, match="there is no record"):
        find("latest")


def test_a_record_in_the_users_cache_is_held_against_its_own_project_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = tmp_path / "one" / "u", tmp_path / "other" / "u"
    record = kept_for(project, small())
    for folder in (project / "src", other):
        folder.mkdir(parents=True)
    monkeypatch.chdir(project / "src")
    assert root_of(record) == project.resolve()
    monkeypatch.chdir(other)
    with pytest.raises(ContractLintError, match="name its project with --root"):
        verify_record(str(record))
    assert verify_record(str(record), root=str(project)).findings
    copied = tmp_path / "copied-0123456789ab" / "records" / record.name  # named as a place is, and none
    copied.parent.mkdir(parents=True)
    copied.write_bytes(record.read_bytes())
    assert root_of(copied) == other.resolve()
