"""Placements as XLA prints them: how an array is split, and which devices hold the same part."""

from __future__ import annotations

import pytest
from contract_lint.hlo_tools.tile_groups import same_part, tiles


@pytest.mark.parametrize(
    ("placement", "split", "alike"),
    [
        ("{replicated}", (1, 1), 8),
        ("{devices=[2,4]<=[8]}", (2, 4), 1),
        ("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", (4, 1), 2),
        ("{devices=[1,2,4]<=[8] last_tile_dims={replicated}}", (1, 2), 4),
        ("{devices=[8,1]0,1,2,3,4,5,6,7}", (8, 1), 1),
        ("{mesh['a'=2,'b'=4], [{'a'}, {}]}", (2, 1), 4),
        ("{mesh['a'=2,'b'=4], [{'b','a'}, {}]}", (8, 1), 1),
    ],
)
def test_the_parts_of_an_array_and_the_devices_that_hold_each(
    placement: str, split: tuple[int, ...], alike: int
) -> None:
    assert tiles(placement, 2) == split
    groups = same_part(placement, 8)
    assert groups is not None
    assert {len(group) for group in groups} == {alike}


@pytest.mark.parametrize(
    "placement", ["{maximal device=0}", "{manual}", "{devices=[8]<=[8]}", "{mesh['a'=8], [{'a'}]}"]
)
def test_a_placement_that_does_not_split_two_dimensions(placement: str) -> None:
    assert tiles(placement, 2) is None
