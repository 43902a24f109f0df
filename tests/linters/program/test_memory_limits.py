"""What a fast compile may say about memory, and what the device's own size says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import LoadedContract
from contract_lint.hlo_tools.capture import Capture
from contract_lint.linters.judge import evidence_of, judge
from contract_lint.linters.program.limits import ROOM, left_to_full, limits
from contract_lint.plugins.pipeline import effort as module
from contract_lint.plugins.pipeline.effort import proven
from contract_lint.plugins.pipeline.judged import judged
from contract_lint.plugins.report.text import render as text
from contract_lint.plugins.report.verdict import headline

from .small_captures import CPU, CUDA, EARLY, GIB, PARTITIONED, REFUSED, TPU, capture, contract

LATE = (
    "Ran out of memory in memory space hbm. Used 17.00G of 15.75G hbm. Exceeded hbm capacity by 1.25G.\n\n"
    "  Largest program allocations in hbm:\n\n"
    "  1. Size: 4.00G\n     Shape: f32[4096,4096,64]{2,1,0:T(8,128)}\n     XLA label: fusion.1 = fusion(p)\n"
)


def found(folder: Path, target: str, need: int, hbm: str | None = None, **more: Any) -> list[Finding]:
    findings = judge(contract(folder, target, hbm), [capture(folder / "c", target, need, **more)])
    return [finding for finding in findings if finding.code.startswith("MEM")]


@pytest.mark.parametrize(
    ("target", "effort", "need", "hbm", "code", "confidence"),
    [
        (TPU, "fast", 13 * GIB, "12GiB", "MEM202", "likely"),
        (TPU, "full", 13 * GIB, "12GiB", "MEM202", "certain"),
        (CUDA, "fast", 13 * GIB, "12GiB", "MEM202", "certain"),
        (CPU, "full", 13 * GIB, "12GiB", "MEM202", "certain"),
        (TPU, "fast", 10 * GIB, "12GiB", "MEM208", "likely"),
        (TPU, "fast", 12 * GIB // ROOM + 1, "12GiB", "MEM208", "likely"),
        (TPU, "fast", 13 * GIB, None, "MEM208", "likely"),
        (TPU, "fast", 16 * GIB, None, "MEM207", "likely"),
        (TPU, "fast", 17 * GIB, None, "MEM207", "likely"),
        (CUDA, "fast", 81 * GIB, None, "MEM207", "certain"),
        (CUDA, "fast", 81 * GIB, "70GiB", "MEM207", "certain"),
    ],
)
def test_one_finding_of_the_right_confidence(
    tmp_path: Path, target: str, effort: str, need: int, hbm: str | None, code: str, confidence: str
) -> None:
    (finding,) = found(tmp_path, target, need, hbm, effort=effort)
    assert (finding.code, finding.confidence) == (code, confidence)
    assert finding.severity == ("warning" if code == "MEM208" else "error")


@pytest.mark.parametrize(
    ("target", "effort", "need", "hbm"),
    [
        (TPU, "fast", 12 * GIB // ROOM, "12GiB"),
        (TPU, "full", 12 * GIB, "12GiB"),
        (CUDA, "fast", 12 * GIB, "12GiB"),
        (CUDA, "fast", 80 * GIB, None),
        (CPU, "full", 500 * GIB, None),
    ],
)
def test_what_is_kept(tmp_path: Path, target: str, effort: str, need: int, hbm: str | None) -> None:
    assert found(tmp_path, target, need, hbm, effort=effort) == []


@pytest.mark.parametrize(
    ("message", "needed", "listed"),
    [
        (EARLY, "20.35 GiB are needed", "RESOURCE_EXHAUSTED"),
        (LATE, "17.00 GiB are needed", "4.00 GiB f32[4096,4096,64]"),
        ("RESOURCE_EXHAUSTED: out of something", "does not fit a device of tpu:v5e:2x4", "RESOURCE_EXHAUSTED"),
    ],
)
def test_out_of_memory_without_a_dump(tmp_path: Path, message: str, needed: str, listed: str) -> None:
    error = {"kind": "out-of-memory", "type": "JaxRuntimeError", "message": message, "phase": "compile"}
    (finding,) = found(tmp_path, TPU, 0, error=error)
    assert (finding.code, finding.severity, finding.confidence) == ("MEM206", "error", "likely")
    assert needed in finding.message and finding.evidence[0].startswith(listed)
    assert finding.help is not None


def test_what_lives_for_the_whole_step_breaks_a_budget_for_certain(tmp_path: Path) -> None:
    """Temporaries may be others at full effort; arguments are not."""
    (finding,) = found(tmp_path, TPU, 13 * GIB, "12GiB", standing=12 * GIB + 1)
    assert (finding.code, finding.confidence) == ("MEM202", "certain")


def test_collectives_that_may_start_early_need_room_of_their_own(tmp_path: Path) -> None:
    """Full effort gathers ahead what fast effort gathers where it is used; the results of all are alive at once."""
    gathered = f"f32[{2 * GIB // 4}]"
    module = PARTITIONED.replace("f32[8]", gathered)
    rooms = []
    for name, partitioned, left in (("alone", None, False), ("gathers", module, True)):
        step = capture(tmp_path / name, TPU, GIB, partitioned=partitioned)
        (evidence,) = evidence_of(contract(tmp_path, TPU, "4GiB"), [step])
        rooms += [limit.room for limit in limits(evidence)]
        assert left_to_full(evidence) == left
    assert rooms == [ROOM * GIB, (ROOM + 2) * GIB]


def test_a_class_may_have_all_temporaries_at_another_peak(tmp_path: Path) -> None:
    """Nothing of the class lives at the peak of the fast compile: that says nothing of the full one's."""
    step = capture(tmp_path / "c", TPU, GIB)
    loaded = contract(tmp_path, TPU, more="memory: { classes: { activation_saved: 1GiB, parameter: 1GiB } }\n")
    by_key = {limit.key: limit for limit in limits(evidence_of(loaded, [step])[0])}
    assert by_key["memory.classes.activation_saved"].open and not by_key["memory.classes.parameter"].open


@pytest.mark.parametrize(
    ("need", "standing", "error", "again"),
    [
        (4 * GIB, 0, None, False),
        (5 * GIB, 0, None, True),
        (12 * GIB, 0, None, True),
        (40 * GIB, 0, None, True),
        (13 * GIB, 12 * GIB + 1, None, False),
        (0, 0, REFUSED, True),
        (0, 0, REFUSED | {"kind": "other-trace", "message": "no"}, False),
    ],
)
def test_what_a_fast_compile_leaves_open_is_compiled_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    need: int,
    standing: int,
    error: dict[str, Any] | None,
    again: bool,
) -> None:
    """12 GiB: kept for certain up to a third of it, broken for certain only by what lives for the whole step."""
    loaded = contract(tmp_path, TPU, "12GiB")
    fast = capture(tmp_path / "fast", TPU, need, error=error, standing=standing)
    full = capture(tmp_path / "full", TPU, need, effort="full", error=error, standing=standing)
    asked: list[dict[str, Any]] = []

    def capture_targets(_: LoadedContract, targets: Sequence[str], **options: Any) -> list[Capture]:
        asked.append({"targets": targets} | options)
        return [full]

    monkeypatch.setattr(module, "capture_targets", capture_targets)
    lines: list[str] = []
    assert proven(loaded, [fast], lines.append, run=False) == [full if again else fast]
    assert [(each["targets"], each["effort"], each["run"]) for each in asked] == [([TPU], "full", False)] * again
    assert len(lines) == again and all("compiled again at full effort" in line for line in lines)
    assert proven(loaded, [full], lines.append) == [full]


@pytest.mark.parametrize(
    ("target", "effort", "said"), [(TPU, "fast", True), (TPU, "full", False), (CUDA, "fast", False)]
)
def test_a_pass_by_a_fast_compile_alone_says_so(tmp_path: Path, target: str, effort: str, said: bool) -> None:
    report = judged(contract(tmp_path, target, "12GiB"), [capture(tmp_path / "c", target, GIB, effort)], verb="verify")
    (tables,) = report.tables
    assert not report.findings and tables.memory is not None
    assert tables.memory.standing == ("estimate" if said else "run")
    sentence = f"memory on {target} likely, by a fast compile alone: 1.00 GiB of 12.00 GiB, full effort not compiled"
    assert (sentence in headline(report)) == said
    assert ("temporaries may take more at full effort" in text(report)) == said
