"""How a mesh lies across hosts and slices, read off the numbers of its devices."""

from __future__ import annotations

import pytest
from contract_lint.contracts.manifest import MeshFact
from contract_lint.contracts.target_name import parse_target
from contract_lint.hlo_tools.roofline.fabric import parts_along


@pytest.mark.parametrize(
    ("target", "ids", "along"),
    [
        ("cuda:h100:2x4", [0, 1, 2, 3, 4, 5, 6, 7], {"data": 2}),
        ("cuda:h100:2x4", [0, 2, 4, 6, 1, 3, 5, 7], {"fsdp": 2}),
        ("cuda:h100:2x4", [0, 1, 4, 5, 2, 3, 6, 7], {"fsdp": 2}),
        ("cuda:h100:2x4", [0, 1, 2, 4, 3, 5, 6, 7], {"data": 2, "fsdp": 2}),
        ("cuda:h100:4x2", [0, 1, 2, 3, 4, 5, 6, 7], {"data": 2, "fsdp": 2}),
        ("tpu:v5e:2x2:slices=2", [*range(100_000, 100_004), *range(200_000, 200_004)], {"data": 2}),
        ("cuda:h100:1x8", [0, 2, 4, 6, 1, 3, 5, 7], {"asked": 2}),
        ("cuda:h100:2x4", [], {"asked": 2}),
    ],
)
def test_parts_along_axes(target: str, ids: list[int], along: dict[str, int]) -> None:
    mesh = MeshFact(axes={"data": 2, "fsdp": 4}, dcn={"asked": 2}, device_ids=ids, axis_types=[])
    assert parts_along(parse_target(target), mesh) == along
