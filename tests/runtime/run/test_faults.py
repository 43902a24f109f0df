"""Clean steps stay within the bound at several seeds and sizes; faults of the sharding exceed it tenfold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

DP, FSDP = "dp_shard_map:build", "mlp_fsdp:build"
SIZES: list[dict[str, Any]] = [{}, {"width": 72, "rows": 2, "sequence": 40}]
CLEAN: list[tuple[str, dict[str, int], dict[str, Any]]] = [
    *((DP, {"data": 8}, size | {"seed": seed}) for size in SIZES for seed in range(3)),
    (DP, {"data": 2, "fsdp": 4}, {"seed": 3}),
    (FSDP, {"data": 2, "fsdp": 4}, {}),
    (FSDP, {"data": 2, "fsdp": 4}, {"microbatches": 2}),
]
FAULTS: list[tuple[str, dict[str, int], dict[str, Any]]] = [
    *(
        (DP, {"data": 8}, size | {"seed": 0, "fault": fault})
        for fault in ("dropped_shard", "missing_psum", "local_tokens", "double_psum", "last_bits")
        for size in SIZES
    ),
    (FSDP, {"data": 2, "fsdp": 4}, {"microbatches": 2, "fault": "mean_of_means"}),
]


@pytest.fixture(scope="module")
def ratios(observe: Callable[..., Any]) -> list[dict[str, float]]:
    return observe("faults.py", json.dumps([*CLEAN, *FAULTS]))


def test_clean_steps_stay_within_the_bound(ratios: list[dict[str, float]]) -> None:
    for case, found in zip(CLEAN, ratios, strict=False):
        assert max(found.values()) <= 1, (case, found)
        assert any(key.startswith("twin gradient") for key in found)
        assert any(key.startswith("moved loss") for key in found)


def test_every_fault_exceeds_it_tenfold_with_and_without_a_twin(ratios: list[dict[str, float]]) -> None:
    assert len(ratios) == len(CLEAN) + len(FAULTS)
    for case, found in zip(FAULTS, ratios[len(CLEAN) :], strict=True):
        for method in ("twin", "moved"):
            gradients = [ratio for key, ratio in found.items() if key.startswith(f"{method} gradient")]
            assert gradients and max(gradients) >= 10, (case, method, found)


def test_a_fault_of_one_leaf_leaves_the_others_clean(ratios: list[dict[str, float]]) -> None:
    for case, found in zip(FAULTS, ratios[len(CLEAN) :], strict=True):
        if case[2]["fault"] == "last_bits":
            assert found["twin gradient v"] >= 10 and found["twin gradient w"] <= 1, found


def test_a_wrong_normaliser_shows_in_the_loss_too(ratios: list[dict[str, float]]) -> None:
    for case, found in zip(FAULTS, ratios[len(CLEAN) :], strict=True):
        if case[2]["fault"] in ("local_tokens", "mean_of_means", "dropped_shard"):
            assert found["twin loss loss"] >= 10, (case, found)
