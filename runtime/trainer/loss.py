"""The terms of the loss, each a sum over the counted tokens, divided by the number of counted tokens of the whole step.

loss = sum_{b,s} mask_bs * (lse_bs - logits_bs,target + w_z lse_bs^2) / sum_{b,s} mask_bs,
lse_bs = log sum_v exp(logits_bsv)

The second term keeps the normaliser of the softmax near one (PaLM, arXiv 2204.02311, section 5: w_z = 1e-4).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

CROSS_ENTROPY, Z_LOSS = "cross_entropy", "z_loss"


def token_terms(logits_BSV: jax.Array, targets_BS: jax.Array) -> dict[str, jax.Array]:
    """Each term of each token [B, S], unweighted, in the dtype of the logits; cross entropy in nats.

    With logits sharded over `vocab` (Megatron-LM, arXiv 1909.08053, section 3) every reduction over V is one
    all-reduce of b*S over `vocab`: the maximum, the sum of exponentials and the target's logit, and nothing in the
    backward pass.
    """
    peak_BS1 = lax.stop_gradient(jnp.max(logits_BSV, axis=-1, keepdims=True))
    log_sum_BS = jnp.log(jnp.sum(jnp.exp(logits_BSV - peak_BS1), axis=-1)) + peak_BS1[..., 0]
    vocab_V = jnp.arange(logits_BSV.shape[-1], dtype=targets_BS.dtype)
    picked_BS = jnp.sum(jnp.where(vocab_V == targets_BS[..., None], logits_BSV, 0), axis=-1)
    return {CROSS_ENTROPY: log_sum_BS - picked_BS, Z_LOSS: jnp.square(log_sum_BS)}


def token_loss(terms_BS: dict[str, jax.Array], z_loss: float) -> jax.Array:
    """Each token's loss [B, S]: the cross entropy, and the second term with its weight where that is not 0."""
    return terms_BS[CROSS_ENTROPY] + z_loss * terms_BS[Z_LOSS] if z_loss else terms_BS[CROSS_ENTROPY]


def counted(loss_mask_BS: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """Tokens that count, over the whole (global) batch, in `dtype`: a scalar all-reduce over the batch axes."""
    return jnp.sum(loss_mask_BS.astype(dtype))


def summed(losses_BS: jax.Array, loss_mask_BS: jax.Array) -> jax.Array:
    """Sum of the counted losses over the whole (global) batch: a scalar all-reduce over the batch axes."""
    return jnp.sum(losses_BS * loss_mask_BS.astype(losses_BS.dtype))
