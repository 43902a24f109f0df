"""State bytes by hand, and what makes them underivable."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.contracts.plan import PlanError, plan_tensors

TARGET = "cpu:8"
# SMALL of conftest: layers 2, d 16, heads 4, kv 2, head_dim 4, ff 32, vocab 64, gated, untied.
PER_LAYER = 16 * 16 + 2 * 16 * 8 + 16 * 16 + 3 * 16 * 32 + 2 * 16
PARAMETERS = 2 * PER_LAYER + 64 * 16 * 2 + 16
BATCH = 16 * 8 * 3 * 4
COUNTERS = 8


def test_data_parallel_holds_everything_on_every_device(make_contract: Callable[..., Any]) -> None:
    plan = plan_tensors(make_contract({"data": 8}, batch_axes=["data"]), TARGET)
    assert plan.bytes_by_role() == {
        "parameter": PARAMETERS * 4,
        "optimizer_slot": PARAMETERS * 8,
        "batch": BATCH // 8,
        "counter": COUNTERS,
    }
    assert plan.state_bytes == PARAMETERS * 12 + COUNTERS
    assert plan.argument_bytes == plan.state_bytes + BATCH // 8


def test_fsdp_divides_all_state(make_contract: Callable[..., Any]) -> None:
    plan = plan_tensors(make_contract({"fsdp": 8}, batch_axes=["fsdp"], logical={"embed": "fsdp"}), TARGET)
    assert plan.state_bytes == PARAMETERS * 12 // 8 + COUNTERS


def test_zero1_divides_slots_only(make_contract: Callable[..., Any]) -> None:
    plan = plan_tensors(make_contract({"data": 8}, batch_axes=["data"], placement=["data"]), TARGET)
    by_role = plan.bytes_by_role()
    assert by_role["parameter"] == PARAMETERS * 4
    assert by_role["optimizer_slot"] == PARAMETERS * 8 // 8
    wq = next(t for t in plan.of("optimizer_slot") if t.name == "mu/layers/attn/wq")
    assert wq.spec == ((), ("data",), ()) and wq.local_shape == (2, 2, 16)


def test_tensor_parallel_keeps_norms_whole(make_contract: Callable[..., Any]) -> None:
    logical = {"heads": "tp", "mlp": "tp", "vocab": "tp"}
    plan = plan_tensors(make_contract({"tp": 2}, logical=logical), TARGET)
    norms = (2 * 2 + 1) * 16
    assert plan.bytes_by_role()["parameter"] == 4 * ((PARAMETERS - norms) // 2 + norms)


def test_rules_override_the_conventional_axes(make_contract: Callable[..., Any]) -> None:
    parameters = {
        "logical_axes": {"embed": None, "wide": ["data"]},
        "rules": [{"match": "attn/w[qkv]", "axes": [None, "wide", None]}],
    }
    plan = plan_tensors(make_contract({"data": 8}, parameters=parameters), TARGET)
    specs = {t.name: t.spec for t in plan.of("parameter")}
    assert specs["layers/attn/wk"] == ((), ("data",), ())
    assert specs["layers/attn/wo"] == ((), (), ())


def test_optimizers_differ_by_their_slots(make_contract: Callable[..., Any]) -> None:
    slots = {
        name: len(plan_tensors(make_contract({"data": 2}, optimizer=name), TARGET).of("optimizer_slot"))
        for name in ("adamw", "adam", "momentum", "sgd")
    }
    assert slots == {"adamw": 24, "adam": 24, "momentum": 12, "sgd": 0}


def test_listed_model_has_state_but_no_batch(make_contract: Callable[..., Any]) -> None:
    contract = make_contract(
        {"data": 2},
        model=None,
        parameters={"logical_axes": {"embed": "data"}, "rules": [{"match": "kernel", "axes": ["embed", None]}]},
    )
    listed = contract.model_dump(mode="json", exclude_none=True)
    listed["model"] = {"kind": "listed", "parameters": {"dense/kernel": [8, 4], "bias": []}}
    plan = plan_tensors(type(contract).model_validate(listed), TARGET)
    assert plan.bytes_by_role()["parameter"] == 8 * 4 * 4 // 2 + 4
    assert not plan.batch_known and plan.argument_bytes is None


def test_bfloat16_moments_halve_the_slots(make_contract: Callable[..., Any]) -> None:
    dtypes = {"master": "float32", "compute": "bfloat16", "moments": "bfloat16"}
    plan = plan_tensors(make_contract({"data": 2}, dtypes=dtypes), TARGET)
    assert plan.bytes_by_role()["optimizer_slot"] == PARAMETERS * 4


@pytest.mark.parametrize("section", ["model", "dtypes", "optimizer", "parameters", "batch", "mesh"])
def test_missing_section_is_named(make_contract: Callable[..., Any], section: str) -> None:
    contract = make_contract({"data": 2})
    contract = contract.model_copy(update={section: None})
    with pytest.raises(PlanError) as error:
        plan_tensors(contract, TARGET)
    assert error.value.key == section


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"logical": {"embed": "fsdp"}}, "parameters.logical_axes", "not an axis of the mesh"),
        ({"logical": {"embed": ["data", "data"]}}, "parameters.logical_axes", "twice"),
        ({"logical": {"vocab": "data"}, "model": {"vocab": 63}}, "parameters.logical_axes", "not divisible by 2"),
        ({"batch": 15, "batch_axes": ["data"]}, "batch.axes", "not divisible by 2"),
        ({"placement": ["nope"]}, "optimizer.placement", "not an axis of the mesh"),
        ({"model": {"d_model": 18}}, "model.heads", "not a multiple of 4 heads"),
        ({"model": {"kv_heads": 3}}, "model.kv_heads", "not a multiple of 3"),
        ({"dtypes": {"master": "float33"}}, "dtypes.master", "float33"),
        ({"parameters": {"rules": [{"match": "table", "axes": ["vocab"]}]}}, "parameters.rules[0].axes", "rank 2"),
        ({"parameters": {"rules": [{"match": "table", "axes": ["x", None]}]}}, "parameters.rules[0].axes", "neither"),
    ],
)
def test_what_does_not_fit_is_named(
    make_contract: Callable[..., Any], changes: dict[str, Any], key: str, words: str
) -> None:
    with pytest.raises(PlanError) as error:
        plan_tensors(make_contract({"data": 2}, **changes), TARGET)
    assert error.value.key == key
    assert words in str(error.value)


def test_plans_never_read_a_program() -> None:
    code = (
        "import sys, contract_lint.contracts.plan; "
        "print([m for m in sys.modules if m.startswith('contract_lint.hlo_tools') or m == 'jax'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("optimizer", "schedule", "counters"),
    [
        ("adamw", False, ["step", "count"]),
        ("adamw", True, ["step", "count", "count"]),
        ("sgd", False, ["step"]),
        ("momentum", True, ["step", "count"]),
    ],
)
def test_a_schedule_counts_its_own_steps(
    optimizer: str, schedule: bool, counters: list[str], make_contract: Callable[..., Any]
) -> None:
    plan = plan_tensors(make_contract({"data": 2}, optimizer=optimizer, schedule=schedule), TARGET)
    assert [row.name for row in plan.of("counter")] == counters
    assert plan.bytes_by_role()["counter"] == 4 * len(counters)
    assert {row.key for row in plan.of("counter")} <= {"optimizer.name", "optimizer.schedule"}
