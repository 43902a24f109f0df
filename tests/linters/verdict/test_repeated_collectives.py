"""A repeated collective explains what follows from it, and nothing else in the program."""

from __future__ import annotations

from typing import Any

from contract_lint.contracts.finding import Finding, Location
from contract_lint.linters.verdict.causes import fold


def finding(code: str, kind: str, axes: list[str], line: int) -> Finding:
    details: dict[str, Any] = {"kind": kind, "axes": axes, "ring_bytes": 8}
    return Finding(
        code=code,
        name=code.lower(),
        severity="error",
        message="m",
        subject=f"{kind}:{line}",
        location=Location("train.py", line, 1),
        details=details,
    )


REPEATED = finding("SHD208", "all-gather", ["fsdp"], 3)


def roots(*found: Finding) -> list[tuple[str, int]]:
    return [(each.code, each.location.line) for each in fold([REPEATED, *found]) if each.is_root and each.location]


def test_the_same_kind_over_the_same_axes_follows_from_it() -> None:
    assert roots(finding("SHD204", "all-gather", ["fsdp"], 9)) == [("SHD208", 3)]


def test_what_stands_on_its_line_follows_from_it() -> None:
    assert roots(finding("SHD204", "reduce-scatter", ["fsdp"], 3)) == [("SHD208", 3)]


def test_other_collectives_stand_for_themselves() -> None:
    assert roots(finding("SHD204", "all-to-all", ["data"], 9)) == [("SHD208", 3), ("SHD204", 9)]


def test_it_explains_no_traffic_between_slices() -> None:
    assert roots(finding("SHD216", "all-gather", ["fsdp"], 9)) == [("SHD208", 3), ("SHD216", 9)]
