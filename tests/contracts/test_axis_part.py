"""A part of a mesh axis, and what it leaves of the axes it is a part of."""

from __future__ import annotations

import pytest
from contract_lint.contracts.axis_part import axis_name, is_rest


@pytest.mark.parametrize("axis", ["fsdp", "fsdp:(1)2", "fsdp:(16)4"])
def test_a_part_has_the_name_of_its_axis(axis: str) -> None:
    assert axis_name(axis) == "fsdp"


@pytest.mark.parametrize(
    ("whole", "taken", "other"),
    [
        (["data"], ["data:(4)2"], ["data:(1)4"]),
        (["data"], ["data:(1)4"], ["data:(4)2"]),
        (["data"], ["data:(4)2"], ["data:(1)2", "data:(2)2"]),
        (["data:(1)8"], ["data:(4)2"], ["data:(2)2"]),
        (["data", "fsdp"], ["data"], ["fsdp"]),
        (["data", "fsdp"], ["data"], ["fsdp:(1)2"]),
    ],
)
def test_what_a_part_leaves(whole: list[str], taken: list[str], other: list[str]) -> None:
    assert is_rest(whole, taken, other)


@pytest.mark.parametrize(
    ("whole", "taken", "other"),
    [
        (["data"], ["data:(4)2"], []),
        (["data"], ["data"], ["data:(1)4"]),
        (["data"], ["data:(4)2"], ["data"]),
        (["data"], ["data:(4)2"], ["data:(2)4"]),
        (["data"], ["data:(4)2"], ["fsdp:(1)4"]),
        (["data"], ["fsdp"], ["data"]),
        (["data:(1)4"], ["data:(1)2"], ["data:(4)2"]),
        (["data"], ["unknown"], ["data:(1)4"]),
    ],
)
def test_what_it_does_not_leave(whole: list[str], taken: list[str], other: list[str]) -> None:
    assert not is_rest(whole, taken, other)
