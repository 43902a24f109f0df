"""What is gathered over a part of an axis need not be summed there: one cause, the gather."""

from __future__ import annotations

from typing import Any

from contract_lint.contracts.finding import Finding, Location
from contract_lint.linters.verdict.causes import fold


def finding(code: str, kind: str, axes: list[str], line: int, **more: Any) -> Finding:
    details: dict[str, Any] = {"kind": kind, "axes": axes, "ring_bytes": 8} | more
    return Finding(
        code=code,
        name=code.lower(),
        severity="error",
        message="m",
        subject=f"{kind}:{','.join(axes)}:{line}",
        location=Location("train.py", line, 1),
        details=details,
    )


GATHER = finding("SHD204", "all-gather", ["data:(1)4"], 3)
ACCEPTED = "all-gather"


def roots(*found: Finding, accepted: str = "") -> list[tuple[str, int]]:
    folded = fold(found, lambda each: each.details["kind"] == accepted)
    return [(each.code, each.location.line) for each in folded if each.is_root and each.location]


def moved(axes: list[str], promised: list[str]) -> Finding:
    return finding("SHD207", "all-reduce", axes, 9, promised_axes=promised)


def test_a_sum_over_what_the_gather_leaves_follows_from_it() -> None:
    assert roots(moved(["data:(4)2"], ["data"]), GATHER) == [("SHD204", 3)]


def test_a_sum_over_one_of_two_axes_follows_from_a_gather_over_the_other() -> None:
    gather = finding("SHD204", "all-gather", ["fsdp"], 3)
    assert roots(moved(["data"], ["data", "fsdp"]), gather) == [("SHD204", 3)]


def test_a_sum_over_another_axis_stands_for_itself() -> None:
    assert roots(moved(["fsdp"], ["data"]), GATHER) == [("SHD207", 9), ("SHD204", 3)]


def test_a_sum_beside_a_gather_over_the_same_devices_stands_for_itself() -> None:
    assert roots(moved(["data:(1)4"], ["data"]), GATHER) == [("SHD207", 9), ("SHD204", 3)]


def test_a_sum_beside_another_sum_stands_for_itself() -> None:
    other = finding("SHD204", "all-reduce", ["data:(1)4"], 3)
    assert roots(moved(["data:(4)2"], ["data"]), other) == [("SHD207", 9), ("SHD204", 3)]


def test_an_accepted_gather_does_not_accept_the_sum() -> None:
    assert ("SHD207", 9) in roots(moved(["data:(4)2"], ["data"]), GATHER, accepted=ACCEPTED)


def test_a_part_of_the_promised_sums_follows_too() -> None:
    """Of two gradients one is summed as promised: the other is missing there and unplanned here."""
    missing = finding("SHD205", "all-reduce", ["data"], 1)
    here = finding("SHD204", "all-reduce", ["data:(4)2"], 9)
    assert roots(missing, here, GATHER) == [("SHD204", 3)]


def test_on_one_line_the_gather_is_the_cause_however_small() -> None:
    missing = finding("SHD205", "all-reduce", ["data"], 1)
    here = finding("SHD204", "all-reduce", ["data:(4)2"], 3, ring_bytes=10**9)
    folded = fold([missing, here, GATHER])
    assert [each.details["kind"] for each in folded if each.is_root] == ["all-gather"]


def test_a_sum_that_nothing_promised_stands_for_itself() -> None:
    here = finding("SHD204", "all-reduce", ["data:(4)2"], 9)
    assert roots(here, GATHER) == [("SHD204", 9), ("SHD204", 3)]


def test_a_sum_that_an_accepted_gather_leaves_is_the_largest_of_its_line_again() -> None:
    """What an accepted gather does not explain stands for itself, and explains what is smaller beside it."""
    missing = finding("SHD205", "all-reduce", ["data"], 1)
    large = finding("SHD204", "all-reduce", ["data:(4)2"], 9, ring_bytes=10**9)
    small = finding("SHD204", "all-to-all", ["fsdp"], 9)
    assert roots(missing, large, small, GATHER) == [("SHD204", 9), ("SHD204", 3)]
    kinds = [each.details["kind"] for each in fold([missing, large, small, GATHER]) if each.is_root]
    assert kinds == ["all-to-all", "all-gather"]
    folded = fold([missing, large, small, GATHER], lambda each: each is GATHER)
    assert [each.details["kind"] for each in folded if each.is_root] == ["all-reduce", "all-gather"]
