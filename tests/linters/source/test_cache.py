"""The cache of summaries and findings: what it keeps, and that nothing in it can do harm."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from contract_lint.contracts.finding import Edit, Finding, Fix, Location
from contract_lint.linters.source.cache import MOST_SINCE, Cache, cache_file, stamp
from contract_lint.linters.source.findings import pack_findings, unpack_findings
from contract_lint.linters.source.stored import Entry
from hypothesis import given
from hypothesis import strategies as st

ENTRY = Entry("abc", ["a", {"x64": True}], b"a summary\n", "out", [{"code": "X"}], b"links", b"words", [1, 2, 3, 4])

ENTRY_SHORT = (ENTRY.small, ENTRY.findings, ENTRY.state)


@pytest.fixture
def there(tmp_path: Path) -> str:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    return str(path)


def test_what_is_put_is_there_next_time(tmp_path: Path, there: str) -> None:
    name = cache_file(str(tmp_path))
    cache = Cache(name, "v1")
    assert cache.get(there, "abc") is None
    cache.put(there, ENTRY)
    cache.save()
    again = Cache(name, "v1")
    assert again.get(there, "abc") == ENTRY
    assert again.get(there, "other") is None
    assert Cache(name, "v2").get(there, "abc") is None
    assert (Path(name).parent / ".gitignore").read_text() == "*\n"


def test_nothing_new_writes_nothing(tmp_path: Path, there: str) -> None:
    name = cache_file(str(tmp_path))
    cache = Cache(name, "v1")
    cache.put(there, ENTRY)
    cache.save()
    before = os.stat(name).st_mtime_ns, os.stat(name).st_ino
    again = Cache(name, "v1")
    again.put(there, ENTRY)
    again.save()
    assert (os.stat(name).st_mtime_ns, os.stat(name).st_ino) == before


def test_files_that_are_gone_are_forgotten(tmp_path: Path, there: str) -> None:
    name = cache_file(str(tmp_path))
    cache = Cache(name, "v1")
    cache.put(there, ENTRY)
    cache.put(there + "gone", ENTRY)
    cache.save()
    assert (there + "gone").encode() not in Path(name).read_bytes()
    assert Cache(name, "v1").get(there) == ENTRY


@given(st.binary(max_size=300), st.integers(0, 400))
def test_a_damaged_cache_is_no_cache(tmp_path_factory: pytest.TempPathFactory, damage: bytes, at: int) -> None:
    folder = tmp_path_factory.mktemp("cache")
    file = folder / "a.py"
    file.write_text("x = 1\n")
    name = cache_file(str(folder))
    cache = Cache(name, "v1")
    cache.put(str(file), ENTRY)
    cache.save()
    good = Path(name).read_bytes()
    Path(name).write_bytes(good[:at] + damage + good[at + len(damage) :])
    assert Cache(name, "v1").get(str(file), "abc") in (None, ENTRY)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, there: str) -> None:
    (tmp_path / ".contract-lint").write_text("a file")
    cache = Cache(cache_file(str(tmp_path)), "v1")
    cache.put(there, ENTRY)
    cache.save()
    assert Cache(cache_file(str(tmp_path)), "v1").get(there, "abc") is None


def test_findings_come_back_as_they_were() -> None:
    found = Finding(
        code="JIT103",
        name="tracer-branch",
        severity="error",
        message="é \x00 \ud800",
        subject="if x:",
        confidence="likely",
        location=Location("a.py", 3, 4, 5, 6),
        expected="e",
        found="f",
        evidence=("one", "two"),
        help="h",
        fix=Fix("mend", (Edit(Location("a.py", 1, 2, 3, 4), "t"),), True, ("jax",), ("jax:tree_map",)),
        details={"kind": "if"},
    )
    packed = json.loads(json.dumps(pack_findings([found])))
    assert packed == pack_findings([found])
    (again,) = unpack_findings(packed, "a.py") or []
    assert again == found and again.details == found.details
    (moved,) = unpack_findings(packed, "b/a.py") or []
    assert moved.location == Location("b/a.py", 3, 4, 5, 6)


@pytest.mark.parametrize("packed", [None, 3, "{", {"x": 1}, [{"code": 1}], [3], [{"at": [1]}], [None]])
def test_other_data_is_no_findings(packed: object) -> None:
    assert unpack_findings(packed, "a.py") is None


def test_parts_of_what_did_not_change_are_kept(tmp_path: Path, there: str) -> None:
    name = cache_file(str(tmp_path))
    other = tmp_path / "b.py"
    other.write_text("")
    cache = Cache(name, "v1")
    cache.put(there, ENTRY)
    cache.put(str(other), Entry("one", findings=[]))
    cache.program = "p"
    cache.save()
    cache.put(str(other), Entry("two", ["b", {}], b"longer than before" * 99, "", [], b""))
    cache.save()
    again = Cache(name, "v1")
    assert again.program == "p" and again.get(there) == ENTRY and again.short(there) == ("abc", *ENTRY_SHORT)
    assert again.get(str(other), "one") is None
    assert again.get(str(other), "two") == Entry("two", ["b", {}], b"longer than before" * 99, "", [], b"")


def test_what_few_files_changed_stands_beside_the_rest(tmp_path: Path, there: str) -> None:
    name = cache_file(str(tmp_path))
    cache = Cache(name, "v1")
    cache.put(there, ENTRY)
    cache.put(f"{there}i", Entry("one", findings=[], words=b"abcd", state=[1, 1, 1, 1]))
    (tmp_path / "a.pyi").write_text("")
    cache.program = "p"
    cache.save()
    before = Path(name).read_bytes()
    for digest in ("two", "three"):
        cache = Cache(name, "v1")
        cache.put(f"{there}i", Entry(digest, findings=[], words=b"efgh"))
        cache.save(whole=False)
        again = Cache(name, "v1")
        assert Path(name).read_bytes() == before and again.program == "p"
        assert again.get(there) == ENTRY and again.state(there) == ("abc", [1, 2, 3, 4])
        assert again.short(f"{there}i") == (digest, None, [], None) and again.state(f"{there}i") is None
        assert again.words(f"{there}i") == b"efgh" and again.get(f"{there}i", "one") is None
    # It counts beside the file that it was written for, and no other.
    beside = Path(f"{name}.since").read_bytes()
    cache = Cache(name, "v1")
    cache.put(f"{there}i", Entry("four", findings=[]))
    cache.save()
    assert not Path(f"{name}.since").exists() and Cache(name, "v1").short(f"{there}i") == ("four", None, [], None)
    Path(f"{name}.since").write_bytes(beside)
    assert Cache(name, "v1").short(f"{there}i") == ("four", None, [], None)


def test_many_changes_are_written_with_the_rest(tmp_path: Path, there: str) -> None:
    name = cache_file(str(tmp_path))
    cache = Cache(name, "v1")
    cache.put(there, ENTRY)
    cache.save()
    cache = Cache(name, "v1")
    for number in range(MOST_SINCE + 1):
        cache.put(f"{there}{number}", Entry("one", findings=[]))
    cache.save(whole=False)
    again = Cache(name, "v1")
    assert not Path(f"{name}.since").exists() and again.short(f"{there}0") and again.get(there) == ENTRY


def test_the_stamp_follows_version_and_settings() -> None:
    assert stamp("a") == stamp("a") != stamp("b")
