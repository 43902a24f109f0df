"""Lists of the largest: ten, then how many more there are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding, Location
from contract_lint.hlo_tools.memory import Buffer
from contract_lint.linters.program.buffers import by_source
from contract_lint.linters.registry import find_rule

BUFFERS = [
    Buffer(f"fusion.{n}", 1 << 20, 1 << 20, "f32[512,512]", "gradient", "", f"train.py:{n}", 0, 1) for n in range(13)
]


def check(code: str) -> Finding:
    rule = find_rule(code)
    assert rule is not None
    size = 13 << 20
    ledger = SimpleNamespace(
        buffers=BUFFERS, by_class={"gradient": size}, need_bytes=size, peak_bytes=size, standing_bytes=0
    )
    memory = SimpleNamespace(hbm=1 << 20, classes={"gradient": 1 << 20})
    evidence: Any = SimpleNamespace(
        contract=SimpleNamespace(memory=memory),
        memory=ledger,
        target="cpu:8",
        capture=SimpleNamespace(manifest=SimpleNamespace(provenance=SimpleNamespace(effort="full"))),
        place=lambda key: Location("t.contract.yaml", 1, 1),
    )
    (finding,) = rule.check(evidence)
    return finding


@pytest.mark.parametrize("code", ["MEM202", "MEM203"])
def test_buffers_over_a_budget(code: str) -> None:
    evidence = check(code).evidence
    assert len(evidence) == 11 and "fusion.9 " in evidence[9] and evidence[10] == "and 3 more"


def test_buffers_by_source_line() -> None:
    ledger: Any = SimpleNamespace(buffers=BUFFERS)
    lines = by_source(ledger)
    assert len(lines) == 11 and lines[-1] == "and 3 more"
