"""`init` on a step that does not fit a device: the numbers, and no contract; and budgets that a device can give."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from contract_lint.plugins.pipeline.init.draft import MIB, _memory
from contract_lint.plugins.pipeline.init.look import Look, Looked
from contract_lint.plugins.pipeline.init.unfit import unfit
from contract_lint.plugins.pipeline.report import Report

from ...linters.program.small_captures import CPU, CUDA, GIB, REFUSED, TPU, capture

STEP = {"entry": "m:build", "path": ["gone"]}


def looked_at(folder: Path, target: str, need: int, **more: Any) -> Report | None:
    looked = cast(Looked, SimpleNamespace(capture=capture(folder / "c", target, need, **more)))
    return unfit("too-large", STEP, looked, folder)


@pytest.mark.parametrize(
    ("target", "need", "error", "code", "numbers"),
    [
        (TPU, 0, REFUSED, "MEM206", ("20.35 GiB are needed", "gives 15.75 GiB")),
        (CUDA, 81 * GIB, None, "MEM207", ("needs 81.00 GiB", "gives a program 80.00 GiB")),
    ],
)
def test_what_does_not_fit_is_told_with_its_numbers(
    tmp_path: Path, target: str, need: int, error: dict[str, Any] | None, code: str, numbers: tuple[str, ...]
) -> None:
    report = looked_at(tmp_path, target, need, error=error, effort="full")
    assert report is not None and report.exit_code == 1 and report.contracts == ()
    (finding,) = report.findings
    assert finding.code == code and all(number in finding.message for number in numbers)
    assert finding.location is None, "the contract it was judged by is gone"


@pytest.mark.parametrize(("target", "need"), [(TPU, 15 * GIB), (CUDA, 80 * GIB), (CPU, 900 * GIB)])
def test_what_fits_goes_on(tmp_path: Path, target: str, need: int) -> None:
    assert looked_at(tmp_path, target, need, effort="full") is None


@pytest.mark.parametrize(
    ("target", "need", "mib"),
    [
        (TPU, 10 * GIB, 11 * 1024),
        (TPU, 15 * GIB, 15.75 * 1024),
        (CUDA, 80 * GIB, 80 * 1024),
        (CPU, 80 * GIB, 88 * 1024),
    ],
)
def test_no_budget_is_more_than_a_device_gives(tmp_path: Path, target: str, need: int, mib: float) -> None:
    step = capture(tmp_path / "c", target, need, effort="full").steps["train"]
    assert _memory(step, target) == {"hbm": f"{int(mib)}MiB"}
    assert need <= int(mib) * MIB


@pytest.mark.parametrize(("target", "effort"), [(TPU, "full"), (CUDA, None), (CPU, None)])
def test_a_budget_is_written_of_the_program_that_runs(target: str, effort: str | None) -> None:
    assert Look("m:build", Path("x"), target, {}, {}, (), None, None, None).effort == effort
