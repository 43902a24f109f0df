"""Observations as they lie on disk: lines that a kill cut, files of arrays, what is no observation."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.observations import CONFIG, METRICS, batch_file, numbered, statistics_file
from contract_lint.linters.checkpoint.observations import read_observations


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "run/observations"
    place.mkdir(parents=True)
    (place / CONFIG).write_text('{"schema": 1}')
    (place / METRICS).write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "lo\n{"step": 2, "loss": "nan"}\n[1]\n')
    header = json.dumps({"tokens": {"dtype": "I32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    (place / batch_file(2)).write_bytes(struct.pack("<Q", len(header)) + header + bytes(24))
    (place / "notes.txt").write_text("")
    return place


def test_all_of_them(folder: Path) -> None:
    seen = read_observations(folder.parent, "observations")
    assert (seen.config, [(line.number, line.step) for line in seen.lines], seen.torn) == (
        {"schema": 1},
        [(1, 1), (3, 2)],
        (2, 4),
    )
    assert (seen.steps("batch"), seen.steps("statistics")) == ({2}, set())
    assert (seen.files or {})["batch", 2].leaves["tokens"].shape == (2, 3)
    assert read_observations(folder.parent, "elsewhere").folder is None


def test_what_is_damaged_is_named(folder: Path) -> None:
    (folder / CONFIG).write_text("{\n  nothing")
    with pytest.raises(ContractLintError, match="no JSON") as caught:
        read_observations(folder.parent, "observations")
    assert str(caught.value.location).endswith("observations/config.json:2:3")


def test_a_name_says_what_and_of_which_step() -> None:
    assert numbered(batch_file(12)) == ("batch", 12) and numbered(statistics_file(123456789)) == (
        "statistics",
        123456789,
    )
    assert numbered("batch-1.safetensors") is None
