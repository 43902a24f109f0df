"""Causes are looked up: twice the findings take twice the look at findings, and no more."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from contract_lint.contracts.axis_part import is_rest
from contract_lint.contracts.finding import Finding, Location
from contract_lint.linters.verdict import causes
from contract_lint.linters.verdict.causes import CAUSES, COLLECTIVE, MOVES, SAME_LINE, SUMS, fold

reads: Counter[str] = Counter()


class Counted(Finding):
    """A finding that counts how often anything of it is looked at."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        reads[name] += 1
        return super().__getattribute__(name)


AXES = (["data"], ["fsdp"], ["data", "fsdp"], ["data:(1)4"], ["data:(4)2"])


ONCE = 600


def findings(times: int) -> list[Finding]:
    """Collectives of all kinds, axes and codes, so many times in files of their own; three stand on each line."""
    found: list[Finding] = []
    for at in range(times * ONCE):
        number = at % ONCE
        kind = (*SUMS, *MOVES)[number % 5]
        code = (*COLLECTIVE, "SHD204", "MEM202")[number % 8]
        details: dict[str, Any] = {"kind": kind, "axes": AXES[number // 5 % 5], "ring_bytes": number % 11}
        details |= {"promised_axes": AXES[number // 3 % 3], "executions": 1, "elements": 8, "asked": number % 17 == 0}
        made = Counted(
            code=code,
            name=code.lower(),
            severity="error",
            message="m",
            subject=str(at),
            location=Location(f"{at // 30}.py", at // 3 % 10, 1),
            details=details,
        )
        found.append(made)
    return found


def looked_at(times: int, accepted: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How often fold looks at a finding, and at a pair of axes."""
    found = findings(times)
    pairs = 0

    def counted(*axes: Any) -> bool:
        nonlocal pairs
        pairs += 1
        return is_rest(*axes)

    monkeypatch.setattr(causes, "is_rest", counted)
    reads.clear()
    fold(found, lambda each: bool(accepted) and int(object.__getattribute__(each, "subject")) % ONCE % accepted == 0)
    return reads.total(), pairs


@pytest.mark.parametrize("accepted", [0, 7])
def test_twice_the_findings_are_looked_at_twice_as_often(accepted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (once, pairs), (twice, more) = (looked_at(times, accepted, monkeypatch) for times in (1, 2))
    assert once > ONCE and twice <= 2 * once
    assert more == pairs > 0, "axes are compared once for each combination of them"


def test_no_code_is_its_own_cause() -> None:
    """A finding that is looked up by its own code would find itself."""
    assert [code for table in (CAUSES, SAME_LINE) for code, listed in table.items() if code in listed] == []
