"""Model FLOPs against the formula written out with numbers, and what it cannot be derived from."""

from __future__ import annotations

from typing import Any

import pytest
from contract_lint.contracts.model import Contract
from contract_lint.contracts.plan.error import PlanError
from contract_lint.contracts.plan.flops import model_flops

MODEL = {
    "kind": "dense",
    "layers": 4,
    "d_model": 128,
    "heads": 4,
    "kv_heads": 2,
    "d_ff": 512,
    "mlp": "gated",
    "vocab": 512,
    "tied": False,
    "sequence": 128,
}
LAYER = 128 * 128 + 2 * 128 * 64 + 128 * 128 + 3 * 128 * 512


def contract(**model: Any) -> Contract:
    step = {"train": {"entry": "a:b"}}
    return Contract.model_validate(
        {"contract": 1, "name": "x", "step": step, "model": {**MODEL, **model}, "batch": {"size": 16}}
    )


def test_six_n_and_attention() -> None:
    """PaLM: 6 N + 12 L H Q T for each token; N without the table that is only looked up."""
    found = model_flops(contract())
    assert found.weights == 4 * LAYER + 128 * 512
    assert found.tokens == 16 * 128
    assert found.flops == 2048 * (6 * found.weights + 12 * 4 * 4 * 32 * 128)
    assert found.formula == "batch * sequence * (6 * N + 12 * layers * heads * head_dim * sequence)"
    assert "2204.02311" in found.source


def test_a_tied_table_is_the_head_and_counts_once() -> None:
    assert model_flops(contract(tied=True)).weights == model_flops(contract()).weights


def test_a_plain_mlp_has_two_matrices_and_head_dim_may_be_given() -> None:
    found = model_flops(contract(mlp="plain", head_dim=64))
    assert found.weights == 4 * (2 * 128 * 256 + 2 * 128 * 128 + 2 * 128 * 512) + 128 * 512
    assert found.flops == 2048 * (6 * found.weights + 12 * 4 * 4 * 64 * 128)


def test_a_forward_pass_is_a_third() -> None:
    assert 3 * model_flops(contract(), training=False).flops == model_flops(contract()).flops


def test_rematerialisation_repeats_each_layer_but_its_last_product() -> None:
    again = model_flops(contract()).recomputed
    assert again == 2048 * (2 * 4 * (LAYER - 512 * 128) + 4 * 4 * 4 * 32 * 128)
    assert model_flops(contract(remat="none")).recomputed == model_flops(contract(), training=False).recomputed == 0
    assert model_flops(contract(remat="none")).flops == model_flops(contract()).flops


def test_what_says_nothing_of_products() -> None:
    listed = Contract.model_validate(
        {
            "contract": 1,
            "name": "x",
            "step": {"train": {"entry": "a:b"}},
            "model": {"kind": "listed", "parameters": {"w": [2, 2]}},
            "batch": {"size": 16},
        }
    )
    with pytest.raises(PlanError, match="listed model"):
        model_flops(listed)
    with pytest.raises(PlanError, match="section is missing"):
        model_flops(listed.model_copy(update={"batch": None}))
