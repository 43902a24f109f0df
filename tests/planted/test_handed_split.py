"""The handed case on splitting a batch: blocks of rows gather the batch, every N-th row does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.plugins.api import verify

CORPUS = Path(os.environ.get("CONTRACT_LINT_CORPUS", "/nonexistent")) / "cases" / "contracts"
STEPS = Path(__file__).parent / "steps"
CONTRACT = """\
contract: 1
name: split
step:
  train:
    entry: handed_split:build
    path: ["{steps}"]
    args: {{ case: "{case}", variant: {variant} }}
targets: [cpu:8]
mesh: {{ axes: {{ data: 8 }} }}
collectives:
  expect:
    - {{ kind: all-reduce, axes: [data], count: 4, elements: 262144 }}
"""


def verified(folder: Path, variant: str) -> list[Finding]:
    cases = sorted(CORPUS.glob("18_*/gen.py"))
    if not cases:
        pytest.skip("CONTRACT_LINT_CORPUS names no folder with cases/contracts")
    path = folder / "split.contract.yaml"
    path.write_text(CONTRACT.format(steps=STEPS, case=cases[0], variant=variant))
    return [each for each in verify(path).findings if each.is_root and each.status == "new"]


@pytest.mark.slow
def test_blocks_of_rows_gather_the_batch(tmp_path: Path) -> None:
    found = verified(tmp_path, "bad")
    assert [each.name for each in found] == ["unplanned-collective"]
    assert found[0].message.startswith("all-gather over data")


@pytest.mark.slow
def test_every_nth_row_stays_where_it_is(tmp_path: Path) -> None:
    assert [each.message for each in verified(tmp_path, "good")] == []
