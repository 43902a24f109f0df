"""The step on eight CPU devices: values against one device in float64, placements, ZeRO-1, training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.runtime.trainer.data import ENTROPY


@pytest.fixture(scope="module")
def placed(child: Callable[..., Any]) -> Any:
    return child("placement")


def test_every_plan_computes_the_one_device_gradients(child: Callable[..., Any]) -> None:
    result = child("parity", x64=True)
    assert result["counts"][0] != result["counts"][1], "equal microbatches could not see a mean of means"
    assert result["terms"] == pytest.approx(result["loss_64"], rel=1e-12)
    for name, plan in result["plans"].items():
        assert plan["worst"] <= 1, name
        assert plan["loss"] == pytest.approx(result["loss_64"], rel=1e-6), name
    assert result["wrong_normaliser"] >= 10, "the bound must see a local denominator"


def test_packed_documents_are_as_if_each_were_alone(child: Callable[..., Any]) -> None:
    result = child("packing")
    assert result["documents"] > 1 and result["reached"] > 0
    assert result["leak"] == 0, "exactly: what is masked before the softmax has no weight at all"
    assert result["apart"] <= 1e-5
    assert result["loss"] == pytest.approx(result["terms"], rel=1e-6)
    assert result["count"] == result["counted"]


def test_parameters_and_slots_are_placed_by_their_logical_axes(placed: Any) -> None:
    state = placed["product"]
    assert state["params/layers/attn/wq"] == [[2, 32, 32], "float32", [[], ["fsdp"], ["tp"]]]
    assert state["params/layers/attn/wo"] == [[2, 32, 32], "float32", [[], ["tp"], ["fsdp"]]]
    assert state["params/layers/mlp/w_down"] == [[2, 64, 32], "float32", [[], ["tp"], ["fsdp"]]]
    assert state["params/layers/attn_norm/scale"] == [[2, 32], "float32", [[], ["fsdp"]]]
    assert state["params/embed/table"] == [[64, 32], "float32", [["tp"], ["fsdp"]]]
    assert state["params/lm_head/kernel"] == [[32, 64], "float32", [["fsdp"], ["tp"]]]
    assert state["opt_state/0/mu/layers/attn/wk"] == [[2, 32, 16], "float32", [[], ["fsdp"], ["tp"]]]
    assert state["step"] == [[], "int32", []]
    assert placed["batch"] == {
        name: [[16, 16], dtype, [["data", "fsdp"], []]]
        for name, dtype in (("loss_mask", "float32"), ("targets", "int32"), ("tokens", "int32"))
    }


def test_axis_names_are_free(placed: Any) -> None:
    assert placed["named"]["params/layers/mlp/w_up"] == [[], ["x"], []]


def test_zero_1_splits_slots_only_and_gives_the_same_step(placed: Any) -> None:
    assert placed["zero"]["params/layers/attn/wq"] == [[], [], ["tp"]]
    assert placed["zero"]["opt_state/0/nu/layers/attn/wq"] == [[], ["data"], ["tp"]]
    assert all(placed["same_placement"])
    assert placed["apart"] <= 1e-6
    assert placed["zero_facts"]["loss"] == pytest.approx(placed["plain_facts"]["loss"], rel=1e-6)
    assert placed["zero_facts"]["grad_norm"] == pytest.approx(placed["plain_facts"]["grad_norm"], rel=1e-5)


def test_declared_arguments_are_what_the_program_holds_and_the_state_is_donated(placed: Any) -> None:
    for facts in (placed["zero_facts"], placed["plain_facts"]):
        assert facts["argument_bytes"] == facts["held"]
        # Everything but the batch: two int32 and one float32 array of 16 x 16 over four devices.
        assert facts["alias"] == facts["held"] - 3 * 16 * 16 * 4 // 4


def test_wrong_settings_are_refused_with_the_known_ones(placed: Any) -> None:
    assert "batch is placed on nope, but the mesh has data" in placed["refused"]["axis"]
    assert "unknown logical axis heads_" in placed["refused"]["logical"]
    assert "unknown trainer setting layer; known are" in placed["refused"]["setting"]


def test_the_language_is_learnt(child: Callable[..., Any]) -> None:
    """Within 0.25 nats of the entropy; without looking back at the dialect nothing gets nearer than `blind`."""
    result = child("language", devices=2)
    assert result["first"] > ENTROPY + 1.5
    assert result["blind"] > ENTROPY + 0.5
    assert result["excess"] <= 0.25
    assert result["compiles"] == 1
    assert result["steps"] == 100
