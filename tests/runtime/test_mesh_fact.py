"""How a mesh that a step lays out itself lies across slices is read off its devices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contract_lint.runtime.capture import mesh_fact


def mesh(slices: list[int], platform: str = "tpu", **axes: int) -> Any:
    devices = np.empty(len(slices), dtype=object)
    for index, slice_index in enumerate(slices):
        devices[index] = SimpleNamespace(id=index, slice_index=slice_index, platform=platform)
    shape = tuple(axes.values())
    return SimpleNamespace(devices=devices.reshape(shape), axis_names=tuple(axes), shape=axes, axis_types=())


@pytest.mark.parametrize(
    ("slices", "axes", "asked", "dcn"),
    [
        ([0, 0, 0, 0], {"data": 2, "fsdp": 2}, {}, {}),
        ([0, 0, 1, 1], {"data": 2, "fsdp": 2}, {}, {"data": 2}),
        ([0, 1, 0, 1], {"data": 2, "fsdp": 2}, {"data": 2}, {"fsdp": 2}),
        ([0, 1, 2, 3], {"data": 2, "fsdp": 2}, {}, {"data": 2, "fsdp": 2}),
        ([0, 0, 1, 1], {"data": 4}, {}, {"data": 2}),
        ([0, 1, 1, 0], {"data": 4}, {}, {"data": 2}),
        ([0, 1, 1, 0], {"data": 2, "fsdp": 2}, {"data": 2}, {"data": 2}),
    ],
)
def test_slices_along_axes(slices: list[int], axes: dict[str, int], asked: dict[str, int], dcn: dict[str, int]) -> None:
    found = mesh_fact(mesh(slices, **axes), asked)
    assert found is not None and found.dcn == dcn


def test_hosts_of_other_machines_are_as_asked() -> None:
    found = mesh_fact(mesh([0, 1], platform="gpu", data=2), {})
    assert found is not None and found.dcn == {}
