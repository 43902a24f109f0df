"""A program as text, judged by the rules that need nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from contract_lint import Finding, parse_hlo
from contract_lint.linters.dump.evidence import DumpEvidence
from contract_lint.linters.dump.judge import judge_dump

Lint = Callable[..., list[Finding]]

ADD = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n"


@pytest.fixture
def lint() -> Lint:
    """`lint("SHD501", "x = ...", ..., others="...", final=True)`: the findings of one rule on an entry of these lines.

    `others` are further computations, `add` (f32) is there already; eight partitions.
    """

    def run(code: str, entry: str, others: str = "", final: bool = True, devices: int = 8) -> list[Finding]:
        schedule = "is_scheduled=true, " if final else ""
        text = f"HloModule twin, {schedule}num_partitions={devices}\n\n{ADD}\n{others}\nENTRY main {{\n{entry}\n}}\n"
        return [each for each in judge_dump(DumpEvidence("twin.txt", parse_hlo(text, "twin.txt"))) if each.code == code]

    return run
