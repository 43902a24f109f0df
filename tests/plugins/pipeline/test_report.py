"""Folding, counting and the exit code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from contract_lint.contracts.finding import Finding
from contract_lint.plugins.pipeline.report import Report, report
from contract_lint.plugins.pipeline.selection import selected


def finding(code: str, severity: Any = "error", **fields: Any) -> Finding:
    return Finding(code=code, name=f"name-{code.lower()}", severity=severity, message="m", subject=code, **fields)


def made(*findings: Finding, **fields: Any) -> Report:
    return report(findings, verb="verify", subject="s", **fields)


def test_consequences_are_folded_and_not_counted() -> None:
    root = finding("SHD204")
    result = made(replace(finding("MEM202"), caused_by=root.fingerprint), root)
    assert [(r.finding.code, [c.code for c in r.consequences]) for r in result.roots()] == [("SHD204", ["MEM202"])]
    assert result.summary() == {"error": 1, "warning": 0, "info": 0}


@pytest.mark.parametrize("status", ["accepted", "suppressed", "baseline"])
def test_an_open_consequence_of_a_set_aside_cause_stands_for_itself(status: Any) -> None:
    root = finding("SHD204", status=status)
    result = made(root, replace(finding("MEM202"), caused_by=root.fingerprint))
    assert result.summary()["error"] == 1 and result.exit_code == 1
    assert result.set_aside() == {status: 1}
    together = made(root, replace(finding("MEM202"), caused_by=root.fingerprint, status=status))
    assert together.summary()["error"] == 0 and together.exit_code == 0
    assert [len(r.consequences) for r in together.roots()] == [1]


def test_ignoring_a_cause_does_not_hide_what_follows() -> None:
    root = finding("SHD204")
    findings = [root, replace(finding("MEM202"), caused_by=root.fingerprint)]
    result = made(*selected(findings, (), ("SHD204",)))
    assert [r.finding.code for r in result.new_roots()] == ["MEM202"] and result.exit_code == 1


@pytest.mark.parametrize(
    ("select", "ignore", "kept"),
    [
        ((), (), ["SHD204", "SHD301", "MEM202"]),
        (("SHD",), (), ["SHD204", "SHD301"]),
        (("shd2", "name-mem202"), (), ["SHD204", "MEM202"]),
        ((), ("SHD", "MEM2"), []),
        (("SHD",), ("SHD301",), ["SHD204"]),
    ],
)
def test_select_and_ignore(select: tuple[str, ...], ignore: tuple[str, ...], kept: list[str]) -> None:
    findings = [finding("SHD204"), finding("SHD301"), finding("MEM202")]
    assert [f.code for f in selected(findings, select, ignore)] == kept


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        ("error", "error", 1),
        ("warning", "error", 0),
        ("warning", "warning", 1),
        ("info", "warning", 0),
        ("info", "info", 1),
        ("error", "never", 0),
    ],
)
def test_exit_code(severity: str, fail_on: Any, code: int) -> None:
    assert made(finding("JIT101", severity), fail_on=fail_on).exit_code == code


def test_a_warning_that_causes_an_error_fails() -> None:
    root = finding("MEM205", "warning")
    assert made(root, replace(finding("SHD204"), caused_by=root.fingerprint)).exit_code == 1


def test_largest_is_the_worst_and_among_those_the_one_that_explains_most() -> None:
    first, second = finding("JIT101"), finding("SHD204")
    result = made(first, second, replace(finding("MEM202"), caused_by=second.fingerprint), finding("AAA001", "warning"))
    largest = result.largest()
    assert largest is not None and largest.finding.code == "SHD204"
    assert made().largest() is None
