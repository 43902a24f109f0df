"""The trainers of the examples, each written otherwise, keep what their contracts say of their meaning."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.load import load_contract
from contract_lint.hlo_tools.capture import read_capture
from contract_lint.plugins.pipeline.judged import judged
from contract_lint.runtime.contract import capture_contract

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(each.parent.name for each in EXAMPLES.glob("*/semantics.contract.yaml")))
def test_the_promise_is_kept(name: str, tmp_path: Path) -> None:
    loaded = load_contract(EXAMPLES / name / "semantics.contract.yaml")
    capture = read_capture(capture_contract(loaded, "cpu:8", semantics=True, cache_dir=tmp_path))
    report = judged(loaded, [capture], verb="verify", semantics=True)
    assert [finding.message for finding in report.findings] == []
    assert "as promised with" in (report.proof or "") and "(float64)" in (report.proof or "")
    meaning = report.tables[0].meaning
    assert meaning is not None and {row.verdict for row in meaning.terms} == {"ok"}
