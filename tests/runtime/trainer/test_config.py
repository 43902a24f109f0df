"""Presets, their sizes, and what is refused."""

from __future__ import annotations

import pytest
from contract_lint.runtime.trainer.config import PRESETS, TrainerConfig, configure


def parameters(cfg: TrainerConfig) -> int:
    """Elements of all parameters, from the sizes alone."""
    attention = 2 * cfg.d_model * cfg.h * (cfg.heads + cfg.kv_heads)
    mlp = (3 if cfg.mlp == "gated" else 2) * cfg.d_model * cfg.d_ff
    outside = cfg.vocab * cfg.d_model * (1 if cfg.tied else 2) + cfg.d_model
    return cfg.layers * (attention + mlp + 2 * cfg.d_model) + outside


def test_proof_preset_has_its_stated_size() -> None:
    assert parameters(PRESETS["proof-1b"]) == 971_018_240


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"heads": 3}, "d_model 128 is not divisible by heads 3"),
        ({"kv_heads": 3}, "heads 4 is not divisible by kv_heads 3"),
        ({"head_dim": 5}, "head_dim 5 must be even"),
        ({"microbatches": 3}, "batch 16 is not divisible by microbatches 3"),
        ({"d_modle": 3}, "unknown trainer setting d_modle; known are batch, clip, compute, d_ff, d_model"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(overrides: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        configure("tiny", **overrides)


def test_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown preset 'tine'; known are tiny, proof-1b"):
        configure("tine")
