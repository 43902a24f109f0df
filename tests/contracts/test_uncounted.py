"""Which id among targets says that they do not count: the promised range first, then the targets themselves."""

from __future__ import annotations

import math

import pytest
from contract_lint.contracts.uncounted import Uncounted, uncounted_id, why_none


@pytest.mark.parametrize("below", [[], [-7], [-7, -1]])
@pytest.mark.parametrize("least", [-100, -100.0])
def test_the_promised_range_comes_first(least: float, below: list[int]) -> None:
    assert uncounted_id(least, below) == Uncounted(id=-100, inferred=False)


@pytest.mark.parametrize("below", [[], [-100]])
def test_a_range_from_0_on_forbids_any(below: list[int]) -> None:
    assert uncounted_id(0, below) is None
    assert "begins at 0" in why_none("labels", 0, below)


@pytest.mark.parametrize("least", [None, -0.5, -math.inf])
def test_where_no_range_names_one_the_only_id_below_0_is_taken(least: float | None) -> None:
    assert uncounted_id(least, [-100]) == Uncounted(id=-100, inferred=True)
    assert uncounted_id(least, []) is None
    assert why_none("labels", least, []) == "no id of `labels` is below 0"


def test_of_several_any_could_be() -> None:
    assert uncounted_id(None, [-100, -1]) is None
    assert "has 2 different ids below 0 (-100 to -1)" in why_none("labels", None, [-100, -1])


def test_what_is_inferred_is_said() -> None:
    promised, inferred = Uncounted(id=-100, inferred=False), Uncounted(id=-100, inferred=True)
    assert "is taken" in inferred.said("labels") and "no `range` names one" in inferred.said("labels")
    assert "`range` of `labels` begins with it" in promised.said("labels")


def test_only_that_id_does_not_count() -> None:
    uncounted = Uncounted(id=-100, inferred=False)
    assert [uncounted.counted(each) for each in (-100, -1, 0, 7)] == [False, True, True, True]
