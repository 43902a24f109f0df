"""What a team has accepted explains what follows from it, but no limit that is newly broken."""

from __future__ import annotations

from typing import Any

import pytest
from contract_lint.contracts.finding import Finding, Location
from contract_lint.linters.verdict.causes import fold


def finding(code: str, line: int | None = None, **more: Any) -> Finding:
    details = {"kind": "all-gather", "axes": ["fsdp"]} | more
    return Finding(
        code=code,
        name=code.lower(),
        severity="error",
        message="m",
        subject=f"{code}:{details['kind']}",
        location=None if line is None else Location("train.py", line, 1),
        details=details,
    )


def causes(*codes: str, accepted: tuple[str, ...] = ()) -> dict[str, str | None]:
    found = fold([finding(code) for code in codes], lambda each: each.code in accepted)
    codes_of = {each.fingerprint: each.code for each in found}
    return {each.code: codes_of[each.caused_by] if each.caused_by else None for each in found}


def test_a_budget_follows_from_a_cause_that_is_new() -> None:
    assert causes("SHD208", "MEM202") == {"SHD208": None, "MEM202": "SHD208"}


def test_a_budget_stands_for_itself_where_the_cause_is_accepted() -> None:
    assert causes("SHD208", "MEM202", accepted=("SHD208",))["MEM202"] is None


def test_another_cause_that_is_new_explains_it() -> None:
    assert causes("SHD212", "SHD208", "MEM202", accepted=("SHD208",))["MEM202"] == "SHD212"


def test_what_follows_from_an_accepted_cause_explains_it_no_more() -> None:
    assert causes("SHD202", "MEM204", "MEM202", accepted=("SHD202",)) == {
        "SHD202": None,
        "MEM204": "SHD202",
        "MEM202": None,
    }


def test_what_is_no_limit_is_accepted_with_its_cause() -> None:
    assert causes("SHD208", "SHD211", accepted=("SHD208",))["SHD211"] == "SHD208"


def promise(beyond: tuple[int, int], accepted: bool, repeated: tuple[int, int] = (2, 64)) -> str | None:
    """The cause of a promise that is exceeded by so many executions and elements, beside a repeated collective."""
    found = fold(
        [
            finding("SHD208", executions=repeated[0], elements=repeated[1]),
            finding("SHD206", executions_beyond=beyond[0], elements_beyond=beyond[1]),
        ],
        lambda each: accepted and each.code == "SHD208",
    )
    return found[1].caused_by


def test_an_accepted_repetition_explains_what_it_adds() -> None:
    assert promise((2, 64), accepted=True) is not None


@pytest.mark.parametrize("beyond", [(-6, -192), (2, 65), (3, 64), (0, 64)])
def test_an_accepted_repetition_hides_no_other_broken_promise(beyond: tuple[int, int]) -> None:
    assert promise(beyond, accepted=False) is not None
    assert promise(beyond, accepted=True) is None


@pytest.mark.parametrize("code", ["SHD204", "SHD205", "SHD206", "SHD207"])
def test_an_accepted_placement_hides_no_broken_promise(code: str) -> None:
    assert causes("SHD202", code)[code] == "SHD202"
    assert causes("SHD202", code, accepted=("SHD202",))[code] is None


LARGE, SMALL = finding("SHD204", 3, ring_bytes=64), finding("SHD204", 3, kind="all-to-all", ring_bytes=8)
PAIRS = {
    "beside a larger one": (LARGE, SMALL),
    "where a callback prints": (finding("JIT202", 3), finding("SHD204", 3)),
    "that a placement asked for": (finding("SHD204", 3, asked=True), finding("SHD204", 9)),
    "of another program": (finding("JIT209"), finding("SHD204", 3)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_whatever_is_accepted_hides_no_broken_promise(pair: str) -> None:
    cause, other = PAIRS[pair]
    assert fold([cause, other])[1].caused_by == cause.fingerprint
    assert fold([cause, other], lambda each: each is cause)[1].caused_by is None


def test_what_is_accepted_itself_stays_where_it_was() -> None:
    assert [each.caused_by for each in fold([LARGE, SMALL], lambda each: each is LARGE)] == [None, None]
    assert fold([LARGE, SMALL], lambda each: each is SMALL)[1].caused_by == LARGE.fingerprint


def test_two_promises_that_stand_for_themselves_are_one_cause_on_one_line() -> None:
    folded = fold([finding("SHD202"), LARGE, SMALL], lambda each: each.code == "SHD202")
    assert [each.caused_by for each in folded] == [None, None, LARGE.fingerprint]
