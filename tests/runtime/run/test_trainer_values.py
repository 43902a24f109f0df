"""The reference trainer on every plan, against one device and its float64 twin."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

SMALL = {"preset": "tiny", "d_model": 64, "layers": 2, "d_ff": 128, "vocab": 64, "sequence": 32}
PLANS: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "dp": ({"data": 8}, {}),
    "zero1": ({"data": 8}, {"optimizer_axes": ["data"]}),
    "fsdp": ({"data": 2, "fsdp": 4}, {}),
    "tp": ({"data": 4, "tp": 2}, {}),
    "fsdp_tp": ({"data": 2, "fsdp": 2, "tp": 2}, {}),
}
MORE = {"reference_args": {"compute": "float32"}, "accumulation_arg": "microbatches"}


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
def test_every_gradient_of_the_trainer_stays_within_the_bound(observe: Callable[..., Any], plan: str) -> None:
    axes, args = PLANS[plan]
    case = ["contract_lint.runtime.trainer:build", axes, SMALL | args, MORE]
    facts = observe("whole.py", json.dumps([case]), timeout=1500)[0]
    assert facts["error"] is None
    gradients = [c for c in facts["comparisons"] if c["role"] == "gradient"]
    assert len(gradients) == 12
    assert all("float64 twin" in c["method"] for c in gradients)
    print(plan, "worst ratio", max(c["ratio"] for c in facts["comparisons"]))
    assert all(c["ratio"] <= 1 for c in facts["comparisons"]), facts["comparisons"]
    assert all(c["floor"] < 1e-4 for c in gradients)
    assert [c["index"] for c in facts["compiles"]] == [0] and facts["transfers"] == []
