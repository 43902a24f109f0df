"""Where devices sit: jax numbers the cores of a chip first, then chips along x, y, z, slices from 100,000 up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from contract_lint.contracts.target_name import parse_target
from contract_lint.hlo_tools.roofline.fabric import Place, crossing, place, span


@pytest.mark.parametrize(
    ("target", "device", "expected"),
    [
        ("tpu:v5e:4x4", 0, Place(0, (0, 0))),
        ("tpu:v5e:4x4", 6, Place(0, (2, 1))),
        ("tpu:v5p:4x4x8", 127, Place(0, (3, 3, 7))),
        ("tpu:7x:2x2x2", 7, Place(0, (1, 1, 0), 1)),
        ("tpu:v5e:4x4:slices=2", 200_005, Place(2, (1, 1))),
        ("cuda:h100:32x8", 17, Place(2, (1,))),
    ],
)
def test_places(target: str, device: int, expected: Place) -> None:
    assert place(parse_target(target), device) == expected


def lanes(target: str, *devices: int) -> dict[str, int]:
    return dict(span(parse_target(target), devices).lanes)


def test_a_whole_dimension_of_sixteen_is_a_ring_with_two_links_a_part_of_it_has_one() -> None:
    assert lanes("tpu:v5e:16x16", *range(16)) == {"x": 2}
    assert lanes("tpu:v5e:16x16", *range(8)) == {"x": 1}
    assert lanes("tpu:v5e:16x16", *range(0, 256, 16)) == {"y": 2}
    assert lanes("tpu:v5e:16x16", *range(256)) == {"x": 2, "y": 2}
    assert lanes("tpu:v5e:8x16", *range(128)) == {"x": 1, "y": 2}
    assert lanes("tpu:v5p:4x4x8", *range(4)) == {"x": 2}
    assert lanes("tpu:v5p:2x2x1", *range(4)) == {"x": 1, "y": 1}


def test_spans_count_cores_chips_and_parts() -> None:
    found = span(parse_target("tpu:7x:2x2x2"), tuple(range(8)))
    assert (found.cores, found.chips, found.parts) == (2, 4, 1)
    found = span(parse_target("tpu:v5e:2x4:slices=2"), (100_000, 100_001, 200_000, 200_001))
    assert (found.cores, found.chips, found.parts, dict(found.lanes)) == (1, 2, 2, {"x": 1})
    found = span(parse_target("cuda:h100:4x8"), (0, 8, 16))
    assert (found.cores, found.chips, found.parts) == (1, 1, 3)
    uneven = span(parse_target("cuda:h100:2x8"), (0, 1, 8))
    assert (uneven.chips, uneven.parts) == (Fraction(3, 2), 2)


def test_permutations_by_what_their_pairs_cross() -> None:
    v5e, h100 = parse_target("tpu:v5e:4x4:slices=2"), parse_target("cuda:h100:2x8")
    assert crossing(v5e, [(100_000, 100_001), (100_001, 100_000)]) == (False, {"x": 2})
    assert crossing(v5e, [(100_000, 200_000)]) == (True, {})
    assert crossing(parse_target("tpu:v5e:2x2"), [(0, 1)]) == (False, {"x": 1})
    assert crossing(h100, [(7, 8), (0, 1)]) == (True, {"NVLink": 1})
