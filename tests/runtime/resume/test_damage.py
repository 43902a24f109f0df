"""The trainer itself after each kind of damage to its newest step: what `checkpoint check` finds whole is taken up, and
the steps behind it are those of a run that was never stopped, to the bit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.plugins.pipeline.checkpoint import check_checkpoint, digests_of

from .damages import flipped, future, leftover, missing, no_item, other_mesh, stale, swapped, truncated

TRAINER = Path(__file__).parent / "children" / "trainer_run.py"
STEPS, UNTIL = 3, 6
DAMAGES: dict[Callable[[Path], None], int] = {
    truncated: 2,
    missing: 2,
    flipped: 2,
    swapped: 1,
    stale: 2,
    leftover: 3,
    no_item: 2,
    future: 2,
    other_mesh: 2,
}
"""Damage -> the newest step that is as it was."""
SEEN_BY_DIGESTS = (flipped, swapped)
"""The bytes of an array alone: who restores them is told nothing."""
STOPS = {"full": (4096, True), "taken": (0, False)}
"""A disk that is full; a folder in whose place something else lies: the bytes that a file may have, and whether the
save fails (Orbax goes round what is in its way)."""
CONTRACT = """\
contract: 1
name: small
step: { train: { entry: "contract_lint.runtime.trainer:build" } }
targets: [cpu:8]
mesh: { axes: { data: 2, fsdp: 4 } }
parameters: { rules: [{ match: embed/table, axes: [null, fsdp] }] }
checkpoint: {}
"""


def trained(*asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps({"until": UNTIL, "save": [], **each}) + "\n" for each in asked)
    done = subprocess.run([sys.executable, str(TRAINER)], input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of a run of three saved steps, with the digests of each; and a run that was never stopped."""
    folder = tmp_path_factory.mktemp("damage")
    saved, unbroken = trained(
        {"folder": str(folder / "run"), "until": STEPS, "save": [1, 2, 3]}, {"folder": str(folder / "unbroken")}
    )
    assert saved["saved"] == [1, 2, 3]
    for step in range(1, STEPS + 1):
        (folder / f"{step}.json").write_text(digests_of(str(folder / "run"), step, None).as_text())
    (folder / "c.contract.yaml").write_text(CONTRACT)
    return folder, unbroken


def whole(folder: Path, step: int, digests: Path) -> bool:
    try:
        return check_checkpoint(str(folder), step=step, digests=str(digests)).exit_code == 0
    except ContractLintError:
        return False


def goes_on(said: Mapping[str, Any], step: int, unbroken: Mapping[str, Any]) -> bool:
    """Whether a run took up this step, and all that followed is as if it had never stopped."""
    behind = {str(number): unbroken["seen"][str(number)] for number in range(step + 1, UNTIL + 1)}
    return (said["restored"], said["state"], said["seen"]) == (step, unbroken["seen"][str(step)][1], behind)


@pytest.mark.slow
def test_the_trainer_goes_on_from_what_is_whole_to_the_bit(runs: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, unbroken = runs
    asked = []
    for damage, expected in DAMAGES.items():
        as_it_is, mended = tmp_path / damage.__name__, tmp_path / f"{damage.__name__}-mended"
        shutil.copytree(folder / "run", as_it_is)
        damage(as_it_is)
        shutil.copytree(as_it_is, mended)
        committed = [step.number or 0 for step in read_checkpoint(mended, step=1).steps if step.state == "committed"]
        good = max(step for step in committed if whole(mended, step, folder / f"{step}.json"))
        assert good == expected, damage.__name__
        for step in range(good + 1, STEPS + 1):
            shutil.rmtree(mended / str(step))
        asked += [as_it_is, mended]
    said = trained(*({"folder": str(each)} for each in asked))
    for (damage, good), plain, mended in zip(DAMAGES.items(), said[::2], said[1::2], strict=True):
        assert goes_on(mended, good, unbroken), (damage.__name__, mended)
        # Left where it is, the damaged step stops a run that takes it up: it never goes on with other numbers.
        if damage not in SEEN_BY_DIGESTS:
            assert "stopped" in plain or goes_on(plain, plain["restored"], unbroken), (damage.__name__, plain)


@pytest.mark.slow
def test_another_mesh_is_told_and_is_no_obstacle(runs: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, _ = runs
    shutil.copytree(folder / "run", tmp_path / "run")
    assert whole(tmp_path / "run", STEPS, folder / f"{STEPS}.json")
    check = {"contract": str(folder / "c.contract.yaml"), "select": ["CKP617"]}
    assert check_checkpoint(str(tmp_path / "run"), **check).findings == ()
    other_mesh(tmp_path / "run")
    (found,) = check_checkpoint(str(tmp_path / "run"), **check).findings
    assert (
        found.severity == "warning" and found.message == "it was saved on data 4 x fsdp 4, promised is data 2 x fsdp 4"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", STOPS)
def test_a_save_that_cannot_be_written_costs_no_step(
    runs: tuple[Path, dict[str, Any]], tmp_path: Path, name: str
) -> None:
    folder, unbroken = runs
    shutil.copytree(folder / "run", tmp_path / "run")
    if name == "taken":
        (tmp_path / "run/4.orbax-checkpoint-tmp").write_text("in the way")
    place = {"folder": str(tmp_path / "run")}
    most, fails = STOPS[name]
    (first,) = trained({**place, "until": 4, "save": [4], "most": most})
    newest = STEPS if fails else 4
    latest = read_checkpoint(tmp_path / "run").latest
    assert latest is not None and latest.number == newest, first
    assert ("stopped" in first) == fails and first.get("saved", []) == ([] if fails else [4]), first
    (said,) = trained(place)
    assert goes_on(said, newest, unbroken), said
