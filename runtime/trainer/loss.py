"""Cross entropy of the counted tokens, divided by the number of counted tokens of the whole step.

loss = sum_{b,s} mask_bs * (log sum_v exp(logits_bsv) - logits_bs,target) / sum_{b,s} mask_bs
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def cross_entropy(logits_BSV: jax.Array, targets_BS: jax.Array) -> jax.Array:
    """Each token's cross entropy [B, S], in nats, in the dtype of the logits.

    With logits sharded over `vocab` (Megatron-LM, arXiv 1909.08053, section 3) every reduction over V is one
    all-reduce of b*S over `vocab`: the maximum, the sum of exponentials and the target's logit, and nothing in the
    backward pass.
    """
    peak_BS1 = lax.stop_gradient(jnp.max(logits_BSV, axis=-1, keepdims=True))
    log_sum_BS = jnp.log(jnp.sum(jnp.exp(logits_BSV - peak_BS1), axis=-1)) + peak_BS1[..., 0]
    vocab_V = jnp.arange(logits_BSV.shape[-1], dtype=targets_BS.dtype)
    picked_BS = jnp.sum(jnp.where(vocab_V == targets_BS[..., None], logits_BSV, 0), axis=-1)
    return log_sum_BS - picked_BS


def counted(loss_mask_BS: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """Tokens that count, over the whole (global) batch, in `dtype`: a scalar all-reduce over the batch axes."""
    return jnp.sum(loss_mask_BS.astype(dtype))


def summed(losses_BS: jax.Array, loss_mask_BS: jax.Array) -> jax.Array:
    """Sum of the counted losses over the whole (global) batch: a scalar all-reduce over the batch axes."""
    return jnp.sum(losses_BS * loss_mask_BS.astype(losses_BS.dtype))
