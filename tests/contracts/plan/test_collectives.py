"""Collective plans by hand: each family's terms, their formulas, and what makes them underivable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from contract_lint.contracts.model import AllowedCollective
from contract_lint.contracts.plan import PlanError, plan_collectives, without_allowed

TARGET = "cpu:8"
LAYER = 16 * 16 * 2 + 2 * 16 * 8 + 3 * 16 * 32 + 2 * 16
OUTSIDE = 64 * 16 * 2 + 16
PARAMETERS = 2 * LAYER + OUTSIDE
TENSOR = {"heads": "tp", "mlp": "tp", "vocab": "tp"}


def totals(contract: Any) -> dict[tuple[str, tuple[str, ...]], tuple[int, int]]:
    return {(t.kind, t.axes): (t.count, t.elements) for t in plan_collectives(contract, TARGET).totals()}


def test_data_parallel_sums_every_gradient_in_every_microbatch(make_contract: Callable[..., Any]) -> None:
    found = totals(make_contract({"data": 8}, batch_axes=["data"], microbatches=2))
    assert found == {("all-reduce", ("data",)): (2 * (2 * 9 + 3), 2 * PARAMETERS)}


def test_fsdp_gathers_for_forward_and_repeated_forward(make_contract: Callable[..., Any]) -> None:
    contract = make_contract({"fsdp": 8}, batch_axes=["fsdp"], logical={"embed": "fsdp"})
    assert totals(contract) == {
        ("all-gather", ("fsdp",)): (2 * (2 * 2 * 9 + 3), 2 * (2 * 2 * LAYER + OUTSIDE)),
        ("reduce-scatter", ("fsdp",)): (2 * (2 * 9 + 3), 2 * PARAMETERS),
    }
    kept = make_contract({"fsdp": 8}, {"remat": "none"}, batch_axes=["fsdp"], logical={"embed": "fsdp"})
    assert totals(kept)["all-gather", ("fsdp",)] == (2 * (2 * 9 + 3), 2 * PARAMETERS)


@pytest.mark.parametrize(
    ("jax", "compute", "once"),
    [
        (None, "bfloat16", set()),
        ("0.11.2", "bfloat16", set()),
        ("0.12.0.1", "bfloat16", {"final_norm/scale"}),
        ("0.12.0.1", "float32", {"embed/table", "final_norm/scale", "lm_head/kernel"}),
    ],
)
def test_new_jax_gathers_weights_read_as_stored_once(
    make_contract: Callable[..., Any], jax: str | None, compute: str, once: set[str]
) -> None:
    contract = make_contract({"fsdp": 8}, batch_axes=["fsdp"], logical={"embed": "fsdp"}, compute=compute)
    gathers = [row for row in plan_collectives(contract, TARGET, jax).rows if row.kind == "all-gather"]
    assert {row.what for row in gathers if row.count == 1} == once
    assert sum(row.count for row in gathers) == 2 * (2 * 2 * 9 + 3) - len(once)


def test_zero1_gathers_updated_parameters_once(make_contract: Callable[..., Any]) -> None:
    found = totals(make_contract({"data": 8}, batch_axes=["data"], placement=["data"]))
    assert found["all-gather", ("data",)] == (12, PARAMETERS)
    assert found["all-reduce", ("data",)][1] == 2 * PARAMETERS


def test_tensor_parallel_terms(make_contract: Callable[..., Any]) -> None:
    """N (8 L + 1) b s d in the compute dtype and N (b s d + 3 b s) in the master dtype, on tp."""
    plan = plan_collectives(make_contract({"data": 4, "tp": 2}, batch_axes=["data"], logical=TENSOR), TARGET)
    on_tp = [row for row in plan.rows if row.axes == ("tp",)]
    bsd = 2 * 8 * 16
    assert sum(r.elements for r in on_tp if r.dtype == "bf16") == 2 * (8 * 2 + 1) * bsd
    assert sum(r.elements for r in on_tp if r.dtype == "f32") == 2 * (bsd + 3 * 2 * 8)
    assert sum(r.count for r in on_tp) == 2 * (8 * 2 + 1 + 1 + 3)


def test_hybrid_sharding_sums_over_both_axes(make_contract: Callable[..., Any]) -> None:
    contract = make_contract({"data": 2, "fsdp": 4}, batch_axes=["data", "fsdp"], logical={"embed": "fsdp"})
    assert set(totals(contract)) == {("all-gather", ("fsdp",)), ("all-reduce", ("data", "fsdp"))}


def test_tied_table_is_gathered_once_and_summed_twice(make_contract: Callable[..., Any]) -> None:
    contract = make_contract({"fsdp": 2}, {"tied": True}, batch_axes=["fsdp"], logical={"embed": "fsdp"})
    rows = [row for row in plan_collectives(contract, TARGET).rows if row.what == "embed/table"]
    assert [(row.kind, row.count) for row in rows] == [
        ("all-gather", 2),
        ("reduce-scatter", 2),
        ("reduce-scatter", 2),
    ]


def test_axes_of_one_device_do_not_communicate(make_contract: Callable[..., Any]) -> None:
    contract = make_contract(
        {"data": 1, "fsdp": 1, "tp": 1}, batch_axes=["data", "fsdp"], logical={"embed": "fsdp", **TENSOR}
    )
    assert plan_collectives(contract, TARGET).rows == ()


def test_formula_text_evaluates_to_the_numbers(make_contract: Callable[..., Any]) -> None:
    contract = make_contract(
        {"data": 2, "fsdp": 2, "tp": 2},
        batch_axes=["data", "fsdp"],
        logical={"embed": "fsdp", **TENSOR},
        placement=["data"],
    )
    words = {
        "microbatches": 2, "layers": 2, "d_model": 16, "heads": 4, "kv_heads": 2, "head_dim": 4, "d_ff": 32,
        "vocab": 64, "sequence": 8, "batch": 16, "n": lambda size: size, "data": 2, "fsdp": 2, "tp": 2,
    }  # fmt: skip
    rows = plan_collectives(contract, TARGET).rows
    assert len(rows) > 30
    for row in rows:
        count, elements = (part.split(" ", 1)[1] for part in row.formula.split("; "))
        assert eval(count, {}, words) == row.count, row
        assert eval(elements, {}, words) == row.elements, row
        assert row.source and row.term and row.key


def test_plan_as_json_has_the_ledger_words(make_contract: Callable[..., Any]) -> None:
    first = plan_collectives(make_contract({"data": 8}, batch_axes=["data"]), TARGET).as_json()[0]
    assert {"kind", "axes", "count", "elements", "dtype", "term", "formula", "source", "key"} <= first.keys()


def test_allowed_rows_leave_both_sides_by_the_same_rule(make_contract: Callable[..., Any]) -> None:
    rows = plan_collectives(make_contract({"data": 8}, batch_axes=["data"]), TARGET).rows
    entry = AllowedCollective(kind="all-reduce", axes=["data", "fsdp"], elements_max=16, reason="norm scales")
    split = without_allowed(rows, [entry])
    assert {row.what for row, index in split.allowed if index == 0} == {
        "layers/attn_norm/scale",
        "layers/mlp_norm/scale",
        "final_norm/scale",
    }
    assert len(split.kept) + len(split.allowed) == len(rows)
    other_kind = AllowedCollective(kind="all-gather", axes=["data"], elements_max=1 << 40, reason="x")
    other_axes = AllowedCollective(kind="all-reduce", axes=["fsdp"], elements_max=1 << 40, reason="x")
    assert not without_allowed(rows, [other_kind, other_axes]).allowed


@pytest.mark.parametrize(
    ("axes", "changes", "key", "words"),
    [
        ({"fsdp": 2}, {"logical": {"embed": "fsdp"}}, "parameters.logical_axes", "does not split the batch"),
        ({"data": 2}, {"batch_axes": ["data"], "logical": {"mlp": "data"}}, "parameters.logical_axes", "both split"),
        ({"tp": 4}, {"logical": {"heads": "tp"}}, "model.kv_heads", "do not divide over 4"),
        ({"pp": 2}, {"logical": {"layer": "pp"}}, "parameters.logical_axes", "pipeline"),
        ({"data": 2}, {"microbatches": 3, "batch": 16}, "accumulation.microbatches", "3 microbatches"),
        ({"data": 8}, {"microbatches": 4, "batch": 16, "batch_axes": ["data"]}, "accumulation.microbatches", "divide"),
        (
            {"a": 2, "b": 2},
            {
                "parameters": {
                    "logical_axes": {"mlp": "a"},
                    "rules": [{"match": "w_down", "axes": ["layer", "b", "embed"]}],
                }
            },
            "parameters.rules[0].axes",
            "different axes",
        ),
    ],
)
def test_plans_without_a_formula_say_why(
    make_contract: Callable[..., Any], axes: dict[str, int], changes: dict[str, Any], key: str, words: str
) -> None:
    with pytest.raises(PlanError) as error:
        plan_collectives(make_contract(axes, **changes), TARGET)
    assert error.value.key == key
    assert words in str(error.value)


def test_listed_model_has_no_collective_plan(make_contract: Callable[..., Any]) -> None:
    contract = make_contract({"data": 2})
    data = contract.model_dump(mode="json", exclude_none=True)
    data["model"] = {"kind": "listed", "parameters": {"w": [4, 4]}}
    with pytest.raises(PlanError) as error:
        plan_collectives(type(contract).model_validate(data), TARGET)
    assert error.value.key == "model.kind"
    assert error.value.help
