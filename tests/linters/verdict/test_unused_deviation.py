"""A deviation that matches nothing is reported as soon as its rule was asked everywhere, with a run or without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from contract_lint.linters.judge import judge

from ..program.small_captures import CUDA, GIB, PARTITIONED, REFUSED, TPU, capture, contract


def unused(folder: Path, rule: str, need: int, run: bool = False, targets: str = TPU, **more: Any) -> list[str]:
    deviation = f"deviations: [{{ rule: {rule}, match: {{ subject: memory.hbm }}, reason: as found }}]\n"
    loaded = contract(folder, targets, "12GiB", deviation)
    found = judge(loaded, [capture(folder / "c", TPU, need, **more)], run)
    return [finding.key or "" for finding in found if finding.code == "JIT401"]


@pytest.mark.parametrize(
    ("rule", "effort", "need", "reported"),
    [
        ("MEM208", "fast", 10 * GIB, False),
        ("MEM208", "full", 10 * GIB, True),
        ("MEM208", "fast", GIB, True),
        ("memory-not-proven", "full", 10 * GIB, True),
        ("SHD208", "full", GIB, True),
    ],
)
def test_without_a_run(tmp_path: Path, rule: str, effort: str, need: int, reported: bool) -> None:
    """What a fast compile warned of once, a full one proves: the entry is of no use any more."""
    assert unused(tmp_path, rule, need, effort=effort) == ["deviations[0]"] * reported


def test_a_rule_on_the_run_waits_for_one(tmp_path: Path) -> None:
    assert unused(tmp_path, "SEM301", GIB, effort="full") == []
    (tmp_path / "run").mkdir()
    assert unused(tmp_path / "run", "SEM301", GIB, effort="full", run=True) == ["deviations[0]"]


def test_a_rule_that_could_not_be_asked_says_nothing(tmp_path: Path) -> None:
    assert unused(tmp_path, "MEM203", 0, error=REFUSED) == []


def test_a_target_that_was_not_looked_at_may_match(tmp_path: Path) -> None:
    assert unused(tmp_path, "MEM208", 10 * GIB, targets=f'{TPU}", "{CUDA}', effort="full") == []


def test_a_step_on_another_mesh_proves_nothing(tmp_path: Path) -> None:
    """What a deviation accepts may be hidden by the fault that comes first; once that is mended it is looked for."""
    deviation = "deviations: [{ rule: SHD208, reason: as found }]\n"
    for folder, size in ((tmp_path / "same", 2), (tmp_path / "other", 4)):
        folder.mkdir()
        loaded = contract(folder, TPU, more=f"mesh: {{ axes: {{ data: {size} }} }}\n" + deviation)
        found = judge(loaded, [capture(folder / "c", TPU, GIB, effort="full", partitioned=PARTITIONED)])
        codes = [finding.code for finding in found if finding.severity == "error"]
        assert ("JIT401" in codes) == (size == 2), codes
        assert ("SHD214" in codes) == (size == 4), codes
