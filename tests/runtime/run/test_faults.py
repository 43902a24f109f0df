"""Clean steps stay within the bound at several seeds and sizes; faults of the sharding exceed it tenfold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Case = tuple[str, dict[str, int], dict[str, Any]]
DP, FSDP = "dp_shard_map:build", "mlp_fsdp:build"
LARGER: dict[str, Any] = {"width": 72, "rows": 2, "sequence": 40}
CLEAN: list[Case] = [
    (DP, {"data": 8}, {"seed": 0}),
    (DP, {"data": 8}, {"seed": 1} | LARGER),
    (DP, {"data": 2, "fsdp": 4}, {"seed": 2}),
    (FSDP, {"data": 2, "fsdp": 4}, {"microbatches": 2}),
]
FAULTS: list[Case] = [
    (DP, {"data": 8}, {"seed": 0, "fault": "dropped_shard"}),
    (DP, {"data": 8}, {"seed": 0, "fault": "local_tokens"}),
    (DP, {"data": 8}, {"seed": 0, "fault": "last_bits"}),
    (DP, {"data": 8}, {"seed": 1, "fault": "missing_psum"} | LARGER),
    (DP, {"data": 8}, {"seed": 1, "fault": "double_psum"} | LARGER),
    (DP, {"data": 8}, {"seed": 1, "fault": "local_tokens"} | LARGER),
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


@pytest.mark.slow
def test_seeds_and_sizes(observe: Callable[..., Any]) -> None:
    sizes = [{"width": w, "rows": r, "sequence": n} for w, r, n in ((8, 1, 5), (24, 4, 16), (64, 2, 100), (200, 1, 30))]
    clean: list[Case] = [(DP, {"data": 8}, size | {"seed": seed}) for size in sizes for seed in range(5)]
    clean += [(FSDP, {"data": 4, "fsdp": 2}, {"width": w, "batch": b}) for w in (16, 64) for b in (8, 64)]
    wrong = ("dropped_shard", "missing_psum", "local_tokens", "double_psum", "last_bits")
    faults: list[Case] = [(DP, {"data": 8}, size | {"seed": 7, "fault": fault}) for size in sizes for fault in wrong]
    found = observe("faults.py", json.dumps([*clean, *faults]), timeout=3000)
    for case, ratios in zip(clean, found, strict=False):
        assert max(ratios.values()) <= 1, (case, ratios)
    for case, ratios in zip(faults, found[len(clean) :], strict=True):
        assert max(ratios.values()) >= 10, (case, ratios)


def test_a_fault_of_one_leaf_leaves_the_others_clean(ratios: list[dict[str, float]]) -> None:
    for case, found in zip(FAULTS, ratios[len(CLEAN) :], strict=True):
        if case[2]["fault"] == "last_bits":
            assert found["twin gradient v"] >= 10 and found["twin gradient w"] <= 1, found


def test_a_wrong_normaliser_shows_in_the_loss_too(ratios: list[dict[str, float]]) -> None:
    for case, found in zip(FAULTS, ratios[len(CLEAN) :], strict=True):
        if case[2]["fault"] in ("local_tokens", "mean_of_means", "dropped_shard"):
            assert found["twin loss loss"] >= 10, (case, found)
