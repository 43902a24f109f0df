"""What `init` accepts so that its contract passes is listed under the report, each with what to do about it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.plugins.pipeline import init
from contract_lint.plugins.pipeline.report import Report, report

Run = Callable[..., "subprocess.CompletedProcess[str]"]
FIRST = Finding(
    code="SHD214",
    name="mesh-mismatch",
    severity="error",
    message="the program runs on one device",
    subject="mesh",
    status="accepted",
    help="give the arguments a sharding",
)
SECOND = Finding(
    code="JIT301", name="recompiled", severity="warning", message="two programs", subject="a", status="accepted"
)
NEW = Finding(code="JIT019", name="unreviewed-promise", severity="info", message="2 promises are marked", subject="r")
LISTED = [
    "  JIT301 recompiled: two programs",
    "  SHD214 mesh-mismatch: the program runs on one device; give the arguments a sharding",
]


@pytest.mark.parametrize(("findings", "listed"), [((FIRST, SECOND, NEW), LISTED), ((NEW,), []), ((), [])])
def test_every_accepted_finding_is_listed_and_nothing_else(
    findings: tuple[Finding, ...], listed: list[str], cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_contract(**_: Any) -> Report:
        return report(findings, verb="init", subject="small", targets=("cpu:2",), contracts=("s.contract.yaml",))

    monkeypatch.setattr(init, "first_contract", first_contract)
    done = cli("init", "small:build", "--target", "cpu:2")
    assert done.returncode == 0, done.stderr
    _, head, rest = done.stdout.partition("\naccepted as found, so that the contract passes;")
    assert bool(head) == bool(listed)
    shown = [line for line in rest.splitlines()[1:] if line.startswith("  ")]
    assert sorted(shown) == listed
    assert done.stdout.rstrip().endswith("contract-lint verify small.contract.yaml")


def test_each_fits_the_terminal(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        init,
        "first_contract",
        lambda **_: report([FIRST], verb="init", subject="small", contracts=("s.contract.yaml",)),
    )
    done = cli("init", "small:build", "--target", "cpu:2", env={"COLUMNS": "80"})
    _, _, rest = done.stdout.partition("\naccepted as found")
    assert rest and max(map(len, rest.splitlines())) <= 80
