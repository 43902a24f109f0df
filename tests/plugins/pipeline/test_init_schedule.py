"""`optimizer.schedule` as init reads it off the counters of the state."""

from __future__ import annotations

import pytest
from contract_lint.contracts.manifest import Leaf, StepFacts
from contract_lint.hlo_tools.tensors import tensors
from contract_lint.plugins.pipeline.init.schedule import schedule_counters

ADAM = ["1/0/count", "1/0/mu/w", "1/0/nu/w"]
MANY = ["inner_states/a/inner_state/2/count", "inner_states/b/inner_state/1/count"]


def counters(state: list[str], argument: str = "state", below: str = "opt_state/") -> list[str]:
    paths = ["params/w", *(below + path for path in state)] if argument == "state" else [below + path for path in state]
    leaves = [
        Leaf(argument=argument, path=path, shape=[] if path.endswith(("count", "step")) else [4, 4], dtype=dtype)
        for path in paths
        for dtype in ["int32" if path.endswith(("count", "step")) else "float32"]
    ]
    return schedule_counters(tensors(StepFacts(step="train", entry="m:build", arguments=leaves)).rows)


@pytest.mark.parametrize(
    ("state", "found"),
    [
        pytest.param([*ADAM, "1/2/count"], ["1/2/count"], id="adamw-with-a-schedule"),
        pytest.param(ADAM, [], id="the-count-of-adam-is-its-own"),
        pytest.param(["0/trace/w", "1/count"], ["1/count"], id="momentum"),
        pytest.param(
            ["count", "hyperparams/b1", "hyperparams_states/learning_rate/count", "inner_state/0/trace/w"],
            ["hyperparams_states/learning_rate/count"],
            id="injected",
        ),
        pytest.param(MANY, MANY, id="one-for-each-group"),
        pytest.param(["mini_step", "0/step"], [], id="other-names"),
    ],
)
def test_a_count_with_nothing_beside_it_is_a_schedules(state: list[str], found: list[str]) -> None:
    assert counters(state) == [f"opt_state/{path}" for path in found]
    assert counters(state, argument="opt_state", below="") == found


def test_outside_of_an_optimizer_it_may_count_anything() -> None:
    assert counters(["count"], below="metrics/") == []
