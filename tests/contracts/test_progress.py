"""Progress records: one in a file or one a line, with the place of each field."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.progress import PROGRESS_FIELDS, read_progress


def test_there_are_twelve_fields() -> None:
    assert len(PROGRESS_FIELDS) == 12


def test_one_record_or_one_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n "step": 1,\n "cursor": {"next_index": 2}}')
    (record,) = read_progress(tmp_path / "a.json")
    assert record.fields["cursor"] == {"next_index": 2} and record.place("cursor").line == 3
    assert set(record.missing) == set(PROGRESS_FIELDS) - {"step", "cursor"}
    (tmp_path / "a.jsonl").write_text('{"step": 1, "tokens": 4}\n\n{"step": 2, "tokens": 8}\n')
    first, second = read_progress(tmp_path / "a.jsonl")
    assert (first.place("tokens").line, second.place("tokens").line, second.fields["tokens"]) == (1, 3, 8)


def test_a_cursor_alone_is_one(tmp_path: Path) -> None:
    for text, cursor in (('{"next_index": 20}', {"next_index": 20}), ("20", 20)):
        (tmp_path / "a.json").write_text(text)
        (record,) = read_progress(tmp_path / "a.json")
        assert record.fields == {"cursor": cursor}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"step": 1, "step": 2}', "a.json:1:13: key `step` is already given"),
        ('{"step": -1, "cursor": 1}', "a.json:1:2: `step` is -1"),
        ('{"step": 1, "tokens": "many", "cursor": 1}', "`tokens` is many"),
        ("", "holds no record"),
        ("{", "a.json:1:2: the text ends too early"),
    ],
)
def test_hostile_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(text)
    with pytest.raises(ContractLintError) as error:
        read_progress("a.json")
    assert said in str(error.value)
