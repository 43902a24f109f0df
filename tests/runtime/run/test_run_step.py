"""`run_step` with its reference processes: roles, methods, what is not compared, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

AXES = {"data": 2, "fsdp": 4}
RANGES = {"ranges": {"y": [0, 10]}}
ACCUMULATED = {"accumulation_arg": "microbatches"} | RANGES


@pytest.fixture(scope="module")
def runs(observe: Callable[..., Any]) -> dict[str, Any]:
    mlp, dp = "mlp_fsdp:build", "dp_shard_map:build"
    cases = {
        "bf16": (
            mlp,
            {"compute": "bfloat16", "microbatches": 2},
            ACCUMULATED | {"reference_args": {"compute": "float32"}},
        ),
        "means": (mlp, {"microbatches": 2, "fault": "mean_of_means"}, ACCUMULATED),
        "moments": (mlp, {"grads": False, "dropout": True, "microbatches": 2}, ACCUMULATED),
        "alone": (dp, {"fault": "needs_eight"}, {}),
    }
    found = observe("whole.py", json.dumps([[entry, AXES, *case] for entry, *case in cases.values()]))
    return dict(zip(cases, found, strict=True))


def by_role(facts: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return [c for c in facts["comparisons"] if c["role"] == role]


def not_compared(facts: dict[str, Any]) -> dict[str, str]:
    return {n["what"]: n["reason"] for n in facts["not_compared"]}


def test_a_clean_step_is_compared_leaf_by_leaf_in_the_precision_of_reference_args(runs: dict[str, Any]) -> None:
    facts = runs["bf16"]
    assert {c["path"] for c in by_role(facts, "gradient")} == {"a/w", "a/b", "b/w", "b/b", "head/w"}
    assert len(by_role(facts, "first_moment")) == 5
    assert {c["path"] for c in by_role(facts, "loss")} == {"loss", "1/loss"}
    assert {c["path"] for c in by_role(facts, "metric")} == {"1/grad_norm", "1/count"}
    assert all(c["ratio"] <= 1 for c in facts["comparisons"])
    assert all("float64 twin" in c["method"] and "2^-24" in c["method"] for c in by_role(facts, "gradient"))
    assert all(c["floor"] < 1e-4 for c in by_role(facts, "gradient"))


def test_what_cannot_be_judged_is_listed(runs: dict[str, Any]) -> None:
    listed = not_compared(runs["bf16"])
    assert set(listed) == {
        "parameters and other floating state (5 arrays)",
        "second moments (5 arrays)",
        "counters (2 arrays)",
    }


def test_a_mean_of_microbatch_means_differs_from_the_batch_at_once(runs: dict[str, Any]) -> None:
    assert all(c["ratio"] >= 10 for c in by_role(runs["means"], "loss"))
    assert all(c["ratio"] >= 10 for c in by_role(runs["means"], "gradient"))


def test_without_loss_and_grads_the_first_moments_stand_in(runs: dict[str, Any]) -> None:
    facts = runs["moments"]
    assert not by_role(facts, "gradient")
    assert len(by_role(facts, "first_moment")) == 5
    assert all(c["ratio"] <= 1 for c in facts["comparisons"])
    assert "scale of the gradients" in not_compared(facts)


def test_a_twin_that_draws_other_random_numbers_is_refused(runs: dict[str, Any]) -> None:
    facts = runs["moments"]
    assert "random numbers" in not_compared(facts)["float64 twin of fn"]
    assert "accumulation" in not_compared(facts)
    assert all("moved" in c["method"] for c in by_role(facts, "first_moment"))


def test_a_step_that_cannot_run_on_one_device_says_so(runs: dict[str, Any]) -> None:
    facts = runs["alone"]
    assert facts["comparisons"] == []
    reason = not_compared(facts)["loss, metrics and gradients"]
    assert "on one device failed" in reason and "eight devices are needed" in reason
    assert len(facts["losses"]) == 2
