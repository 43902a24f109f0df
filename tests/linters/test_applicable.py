"""A step that was not compiled: what is judged all the same, and what the report says nobody looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from contract_lint.linters.applicable import applicable, unjudged
from contract_lint.linters.judge import evidence_of
from contract_lint.linters.registry import rules
from contract_lint.plugins.pipeline.judged import judged
from contract_lint.plugins.report.text import render

from .program.small_captures import CUDA, PARTITIONED, REFUSED, TPU, capture, contract

PROMISES = """\
batch: { size: 16 }
collectives: { expect: [{ kind: all-reduce, axes: [data], count: 2, elements: 16 }] }
memory: { hbm: 12GiB, classes: { activation_saved: 1GiB } }
"""
REJECTED = {"kind": "other-trace", "type": "TypeError", "message": "no", "phase": "trace", "frames": []}


def test_the_collectives_of_a_refused_program_are_judged(tmp_path: Path) -> None:
    """No row of the report differs without a finding that says so."""
    loaded = contract(tmp_path, TPU, more=PROMISES)
    report = judged(loaded, [capture(tmp_path / "c", TPU, 0, error=REFUSED, partitioned=PARTITIONED)], verb="verify")
    assert [finding.code for finding in report.findings] == ["MEM206", "SHD205"]
    (tables,) = report.tables
    assert [row.verdict for row in tables.collectives] == ["differs"]
    assert tables.not_judged == ("not judged: batch, memory.classes; the compiler refused the program for its size")
    assert tables.not_judged in " ".join(render(report).split())


@pytest.mark.parametrize(
    ("error", "partitioned", "keys"),
    [
        (None, PARTITIONED, []),
        (REFUSED, PARTITIONED, ["batch", "memory.classes"]),
        (REFUSED, None, ["batch", "collectives", "memory.classes"]),
        (REJECTED, None, ["batch", "collectives", "memory.classes", "memory.hbm"]),
    ],
)
def test_what_was_not_judged(
    tmp_path: Path, error: dict[str, Any] | None, partitioned: str | None, keys: list[str]
) -> None:
    step = capture(tmp_path / "c", TPU, 0, error=error, partitioned=partitioned)
    (evidence,) = evidence_of(contract(tmp_path, TPU, more=PROMISES), [step])
    assert unjudged(evidence) == keys
    kinds = {rule.evidence for rule in applicable(evidence)}
    assert kinds == (
        {"trace", "program", "run", "semantics"}
        if error is None
        else {"trace", "program"}
        if "collectives" not in keys
        else {"trace"}
    )


def test_a_compiled_step_is_asked_everything(tmp_path: Path) -> None:
    (evidence,) = evidence_of(contract(tmp_path, CUDA), [capture(tmp_path / "c", CUDA, 0)])
    assert list(applicable(evidence)) == [
        rule for kind in ("trace", "program", "run", "semantics") for rule in rules(kind)
    ]
