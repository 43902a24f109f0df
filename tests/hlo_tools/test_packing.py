"""Buffers side by side: addresses counted by hand."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.assignment import HeapEvent, HeapTrace, LogicalBuffer
from contract_lint.hlo_tools.packing import MOST, packed


def pack(sizes: dict[int, int], events: str, alignment: int = 1) -> tuple[int, dict[int, int]]:
    """`events`: `+1` begins buffer 1, `-1` frees it, `2=1` begins 2 in the memory of 1."""
    made = []
    for event in events.split():
        if "=" in event:
            buffer, owner = map(int, event.split("="))
            made.append(HeapEvent("share", buffer, owner, "c", "i"))
        else:
            made.append(HeapEvent("alloc" if event[0] == "+" else "free", int(event[1:]), 0, "c", "i"))
    buffers = {number: LogicalBuffer(number, size) for number, size in sizes.items()}
    return packed(HeapTrace(made, True), buffers, alignment)


def test_buffers_that_never_meet_share_their_place() -> None:
    assert pack({1: 8, 2: 4}, "+1 -1 +2 -2") == (8, {1: 0, 2: 0})


def test_buffers_that_meet_lie_side_by_side() -> None:
    assert pack({1: 8, 2: 4}, "+1 +2 -1 -2") == (12, {1: 0, 2: 8})


def test_a_hole_is_filled() -> None:
    # 1 lies at 0, 2 at 8 and 3 at 12. When 1 and 3 have gone, 4 has 8 below 2 and the room above it.
    top, offsets = pack({1: 8, 2: 4, 3: 4, 4: 3}, "+1 +2 +3 -1 -3 +4 -2 -4")
    assert (top, offsets[2], offsets[4]) == (16, 8, 0)


def test_the_smallest_hole_that_holds_it() -> None:
    # Placed before 6, by size: 1 at 0, 2 at 32, 3 at 48, 4 at 56 and 5 at 60. Then 1 and 3 end.
    sizes = {1: 32, 2: 16, 3: 8, 4: 4, 5: 4, 6: 3}
    top, offsets = pack(sizes, "+1 +2 +3 +4 +5 -1 -3 +6 -6 -2 -4 -5")
    assert (top, offsets[6]) == (64, 48)


def test_the_longest_lived_first_where_that_takes_less() -> None:
    """By size 1 pushes 3 up to 6, 2 lies below it and 4 on top, up to 15; the longest-lived 3 first leaves 4 the 10."""
    top, offsets = pack({1: 6, 2: 5, 3: 5, 4: 4}, "+3 +1 -1 +2 +4 -3 -4 -2")
    assert (top, offsets) == (14, {3: 0, 2: 5, 1: 5, 4: 10})


def test_a_shared_buffer_keeps_its_place() -> None:
    top, offsets = pack({1: 8, 2: 8, 3: 8}, "+1 2=1 -1 +3 -2 -3")
    assert (top, offsets) == (16, {1: 0, 3: 8})


@pytest.mark.parametrize(("alignment", "top"), [(1, 5), (64, 65)])
def test_every_buffer_begins_at_a_multiple(alignment: int, top: int) -> None:
    assert pack({1: 1, 2: 4}, "+1 +2 -1 -2", alignment)[0] == top


def test_of_very_many_buffers_the_largest_are_placed() -> None:
    count = MOST + 10
    sizes = {number: (1000 if number == count else 1) for number in range(1, count + 1)}
    top, offsets = pack(sizes, " ".join(f"+{n} -{n}" for n in sizes))
    assert top == 1000 and len(offsets) == MOST and offsets[count] == 0
