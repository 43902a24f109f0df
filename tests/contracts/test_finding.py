"""Fingerprints: the same for one cause wherever it is seen, another for each cause."""

from __future__ import annotations

from contract_lint.contracts.finding import Finding, Location, merge_targets, tell_apart


def finding(line: int | None, *targets: str, subject: str = "train.py:layer") -> Finding:
    place = None if line is None else Location("train.py", line)
    return Finding(
        code="SHD204", name="n", severity="error", message="m", subject=subject, location=place, targets=targets
    )


def test_lines_that_share_everything_else_are_numbered_in_order() -> None:
    found = tell_apart(
        [finding(9, "cpu:8"), finding(4, "cpu:8"), finding(4, "cpu:8"), finding(6, "cpu:8", subject="x")]
    )
    assert [each.ordinal for each in found] == [1, 0, 0, 0]
    assert len(merge_targets(found)) == 3
    assert found[1].fingerprint == finding(4).fingerprint == finding(400).fingerprint
    assert tell_apart(found) == found


def test_one_line_has_one_number_on_every_target() -> None:
    found = merge_targets(tell_apart([finding(4, "cpu:8"), finding(9, "cpu:8"), finding(9, "tpu:v5e:2x4")]))
    assert [(each.ordinal, each.targets) for each in found] == [(0, ("cpu:8",)), (1, ("cpu:8", "tpu:v5e:2x4"))]


def test_one_cause_that_each_target_sees_on_a_line_of_its_own_stays_one() -> None:
    (one,) = merge_targets(tell_apart([finding(4, "cpu:8"), finding(9, "tpu:v5e:2x4")]))
    assert (one.ordinal, one.targets) == (0, ("cpu:8", "tpu:v5e:2x4"))


def test_what_has_no_place_is_told_from_what_has_one_only_by_its_file() -> None:
    found = tell_apart([finding(None, "cpu:8"), finding(4, "cpu:8")])
    assert [each.ordinal for each in found] == [0, 0] and len(merge_targets(found)) == 2
