"""Saves that are killed anywhere, disks that are full, files that are damaged: never a wrong `complete`, and the last
committed step is found."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.linters.checkpoint.values import Values
from contract_lint.plugins.pipeline.checkpoint import check_checkpoint, digests_of

from .damages import flipped, future, leftover, missing, no_item, stale, swapped, truncated

SAVER = Path(__file__).parent / "children" / "saver.py"
KILLS = 30
ACTS = 60
"""More than two saves of two items take, the removal of an old step among them."""


def saver(folder: Path, until: int, event: int = 0, most: int = 0) -> tuple[int, dict[str, int]]:
    """The exit code, and the last step of each word that it said."""
    arguments = [str(folder), str(until), str(event), str(most)]
    done = subprocess.run([sys.executable, str(SAVER), *arguments], capture_output=True, text=True)
    assert "is not what was saved" not in done.stderr
    return done.returncode, {word: int(step) for word, step in map(str.split, done.stdout.splitlines())}


def whole(folder: Path, step: int) -> bool:
    """Whether a step has the values that it was saved with."""
    checkpoint = read_checkpoint(folder, step=step)
    item = next(item for item in checkpoint.items if item.name == "state")
    rng = np.random.default_rng(step)
    for name, shape in (("w", (64, 33)), ("b", (7,))):
        found = np.concatenate(list(Values(checkpoint, item).of(item.leaves[f"params/{name}"])), axis=None)
        if not np.array_equal(found, rng.standard_normal(shape).ravel()):
            return False
    return True


def codes(folder: Path, **options: Any) -> set[str]:
    return {finding.code for finding in check_checkpoint(str(folder), **options).findings}


@pytest.mark.slow
def test_a_save_that_is_killed_anywhere_leaves_the_last_committed_step(tmp_path: Path) -> None:
    folder, safe = tmp_path / "run", 0
    choose = random.Random(20_261_130)
    for _ in range(KILLS):
        code, said = saver(folder, safe + 3, choose.randrange(1, ACTS))
        assert code in (0, -9) and said["restored"] >= safe
        safe = said.get("saved", said["restored"])
        if not any(path.name.isdigit() for path in folder.iterdir()):
            continue
        checkpoint = read_checkpoint(folder)
        assert checkpoint.latest is not None and checkpoint.latest.number in (safe, safe + 1)
        safe = checkpoint.latest.number
        assert codes(folder) <= {"CKP601", "CKP602"}
        for step in checkpoint.steps:
            if step.state != "committed" or step.number is None:
                continue
            clean = check_checkpoint(str(folder), step=step.number).exit_code == 0
            assert not clean or whole(folder, step.number), step.folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "run"
    assert saver(folder, 3)[1] == {"restored": 0, "saved": 3}
    (folder.parent / "digests.json").write_text(digests_of(str(folder), 3, None).as_text())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (truncated, "CKP609"),
        (missing, "CKP609"),
        (flipped, "CKP613"),
        (swapped, "CKP613"),
        (stale, "CKP609"),
        (leftover, "CKP601"),
        (no_item, "CKP610"),
        (future, None),
    ],
)
def test_damage_is_found(run: Path, tmp_path: Path, damage: Callable[[Path], None], expected: str | None) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    digests = str(run.parent / "digests.json")
    assert codes(folder, digests=digests) == set()
    damage(folder)
    if expected is None:
        with pytest.raises(ContractLintError, match="has no `tree_metadata`"):
            check_checkpoint(str(folder))
        return
    assert expected in codes(folder, digests=digests)
    # What only digests can see is never called verified without them.
    assert expected in codes(folder) or expected == "CKP613"
    assert "contents unverified" in (check_checkpoint(str(folder)).proof or "")


@pytest.mark.slow
def test_a_disk_that_is_full_and_a_place_that_cannot_be_written_lose_nothing(run: Path, tmp_path: Path) -> None:
    for name, most in (("full", 4096), ("taken", 0)):
        folder = tmp_path / name
        shutil.copytree(run, folder)
        if name == "taken":
            (folder / "4.orbax-checkpoint-tmp").write_text("in the way")
        code, said = saver(folder, 4, most=most)
        checkpoint = read_checkpoint(folder)
        assert checkpoint.latest is not None and said["restored"] == 3
        if said.get("saved") != 4:
            assert code != 0 and checkpoint.latest.number == 3
        assert whole(folder, checkpoint.latest.number or 0)
