"""The lock file: one line for each parameter, read back as it was written; whatever else it holds is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.lock import Lock, LockedParameter, lock_path, read_lock

W = LockedParameter(
    shape=(4, 8), dtype="float32", placement=((), ("fsdp",)), start="normal 0.1", decay=0.1, rate=1.0, clip="all"
)
LOCK = Lock("toy", "first lock", {"train": {"layers/w": W, "norm/scale": W}})


def test_it_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "toy.contract.lock.json"
    path.write_text(LOCK.as_text())
    found = read_lock(path)
    assert (found.contract, found.why, found.steps) == (LOCK.contract, LOCK.why, LOCK.steps)
    lines = path.read_text().splitlines()
    for name in ("layers/w", "norm/scale"):
        (line,) = [number for number, text in enumerate(lines, start=1) if f'"{name}"' in text]
        place = found.steps["train"][name].place
        assert place is not None and place.line == line
    assert json.loads(path.read_text())["why"] == "first lock"


def test_it_lies_beside_the_contract() -> None:
    assert lock_path(Path("a/train.contract.yaml")) == Path("a/train.contract.lock.json")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"schema_version": 1', '"schema_version": 2', "`schema_version` is not 1"),
        ('"why": "first lock"', '"why": 3', "text is expected here"),
        ('"decay": 0.1', '"decay": "much"', "`decay` must be a number or null"),
        ('"clip": "all"', '"clip": "some"', "`clip` must be all, alone, none or null"),
        ('"shape": [4, 8]', '"shape": [4, true]', "`shape` must be a list of whole numbers"),
        ('"placement": [[], ["fsdp"]]', '"placement": [[], [1]]', "`placement` must be lists of axes"),
        ('"rate": 1.0', '"rates": 1.0', "unknown key `rates`"),
        ('"norm/scale"', '"layers/w"', "already given"),
        ('"steps": {', '"steps": [', ""),
    ],
)
def test_what_is_no_lock_is_refused_with_its_place(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "toy.contract.lock.json"
    text = LOCK.as_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ContractLintError) as caught:
        read_lock(path)
    assert says in caught.value.message
    assert caught.value.location is not None and caught.value.location.line is not None
