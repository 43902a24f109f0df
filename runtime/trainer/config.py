"""What the reference trainer can be: its sizes, its numerics and its optimizer, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import jax.numpy as jnp

Compute = Literal["bfloat16", "float32", "float64"]


@dataclass(frozen=True)
class TrainerConfig:
    """Sizes, dtypes and optimizer of one trainer. Letters in brackets are those of the shape suffixes used in the code.

    `compute` is the dtype of matrix products and activations; parameters are float32 (float64 where `compute` is, for
    which jax must run with `jax_enable_x64`). `remat="full"` recomputes each layer in the backward pass. `packed`: rows
    hold several documents, told apart by segment ids, each with positions of its own; attention stays within them.
    """

    d_model: int  # D
    layers: int  # L
    heads: int  # H
    kv_heads: int  # K
    d_ff: int  # F
    vocab: int  # V
    sequence: int  # S
    batch: int  # B, sequences in the global batch of one step
    microbatches: int = 2  # N
    head_dim: int | None = None  # h, default D / H
    mlp: Literal["gated", "plain"] = "gated"
    tied: bool = False
    remat: Literal["full", "none"] = "full"
    compute: Compute = "bfloat16"
    optimizer: Literal["adamw", "adam", "sgd", "momentum"] = "adamw"
    learning_rate: float = 3e-3
    warmup: int = 0
    weight_decay: float = 0.01
    clip: float | None = 1.0
    z_loss: float = 0.0  # weight of the squared log-sum-exp of the logits
    dropout: float = 0.0  # share of what attention and MLP add to the residual stream that is dropped
    rope_theta: float = 10_000.0
    packed: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.head_dim is None and self.d_model % self.heads:
            raise ValueError(f"d_model {self.d_model} is not divisible by heads {self.heads}; give head_dim")
        if self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} is not divisible by kv_heads {self.kv_heads}")
        if self.h % 2:
            raise ValueError(f"head_dim {self.h} must be even for rotary positions")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout {self.dropout} must be at least 0 and below 1")
        if self.batch % self.microbatches:
            raise ValueError(f"batch {self.batch} is not divisible by microbatches {self.microbatches}")

    @property
    def h(self) -> int:
        """Width of one head."""
        return self.head_dim if self.head_dim is not None else self.d_model // self.heads

    @property
    def compute_dtype(self) -> Any:
        return jnp.dtype(self.compute)

    @property
    def master_dtype(self) -> Any:
        """Dtype of parameters, optimizer slots, statistics (norms, softmax, loss) and gradient accumulators."""
        return jnp.dtype("float64" if self.compute == "float64" else "float32")


PRESETS: dict[str, TrainerConfig] = {
    "tiny": TrainerConfig(d_model=128, layers=4, heads=4, kv_heads=2, d_ff=512, vocab=512, sequence=128, batch=16),
    "proof-1b": TrainerConfig(
        d_model=4096,
        layers=4,
        heads=32,
        kv_heads=8,
        d_ff=10880,
        vocab=32768,
        sequence=1024,
        batch=512,
        learning_rate=3e-4,
    ),
}


def configure(preset: str = "tiny", **overrides: Any) -> TrainerConfig:
    """The configuration of a preset with some fields replaced.

    Raises ValueError for an unknown preset or field (with the known ones) and for sizes that do not fit each other.
    """
    if preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}; known are {', '.join(PRESETS)}")
    known = {f.name for f in fields(TrainerConfig)}
    if unknown := sorted(set(overrides) - known):
        raise ValueError(f"unknown trainer setting {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    return replace(PRESETS[preset], **overrides)
