"""Steps made of Flax NNX objects, which change their arguments in place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="module")
def facts(observe: Callable[..., Any]) -> dict[str, Any]:
    return observe("whole.py", json.dumps([["objects:build", {"data": 8}, {}, {"steps": 3}]]))[0]


def test_the_state_is_carried_in_place(facts: dict[str, Any]) -> None:
    assert facts["error"] is None
    assert [c["index"] for c in facts["compiles"]] == [0]
    assert len(facts["losses"]) == 3


def test_first_moments_are_read_from_the_changed_optimizer(facts: dict[str, Any]) -> None:
    moments = {c["path"]: c["ratio"] for c in facts["comparisons"] if c["role"] == "first_moment"}
    assert set(moments) == {"optimizer/opt_state/0/mu/kernel", "optimizer/opt_state/0/mu/bias"}
    assert all(ratio <= 1 for ratio in moments.values())
    assert [c["role"] for c in facts["comparisons"] if c["path"] == "output"] == ["loss"]
