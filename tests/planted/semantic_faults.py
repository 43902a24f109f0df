"""Planted faults of meaning, as data: what is changed in the reference trainer, and what `verify --semantics` must say.

Every fault is planted at two sizes and with 2 and 4 microbatches. `equal_loss`: the loss of the faulty step is that of
the clean one to five digits, so that no comparison of losses can find it.
"""

from __future__ import annotations

from dataclasses import dataclass

Edit = tuple[str, str, str]


@dataclass(frozen=True)
class SemanticFault:
    """`edits`: (file, old, new); `old` occurs exactly once. `says`: words of the finding's message."""

    name: str
    edits: tuple[Edit, ...]
    code: str
    key: str
    says: str
    equal_loss: bool = False

    def __str__(self) -> str:
        return self.name


STEP, LOSS, OPTIM, MODEL = "step.py", "loss.py", "optim.py", "model.py"
PART = '            return summed(token_loss(terms_BS, self.cfg.z_loss), batch["loss_mask"]) / tokens'
MEAN = '            return summed(token_loss(terms_BS, self.cfg.z_loss), batch["loss_mask"]) / tokens'
GRAD = "            return jax.tree.map(jnp.add, total, jax.value_and_grad(part)(params, rows, microbatch)), None"
FIRST, SECOND = "objective.terms[0]", "objective.terms[1]"

FAULTS = (
    SemanticFault(
        "mean-of-means",
        (
            (
                STEP,
                PART,
                '            own = counted(batch["loss_mask"], self.cfg.master_dtype) * self.cfg.microbatches\n'
                '            return summed(token_loss(terms_BS, self.cfg.z_loss), batch["loss_mask"]) / own',
            ),
        ),
        code="SEM805",
        key=FIRST,
        says="each microbatch's own counted tokens",
    ),
    SemanticFault(
        "divided-by-microbatches-too",
        ((STEP, PART, PART + " / self.cfg.microbatches"),),
        code="SEM806",
        key=FIRST,
        says="divided by the number of microbatches once more",
    ),
    SemanticFault(
        "padding-in-the-denominator",
        (
            (
                LOSS,
                "    return jnp.sum(loss_mask_BS.astype(dtype))",
                "    return jnp.sum(jnp.ones_like(loss_mask_BS, dtype))",
            ),
        ),
        code="SEM803",
        key=f"{FIRST}.normaliser",
        says="all positions of the batch, counted or not",
    ),
    SemanticFault(
        "z-loss-without-gradient",
        (
            (
                LOSS,
                "    return terms_BS[CROSS_ENTROPY] + z_loss * terms_BS[Z_LOSS] if z_loss",
                "    return terms_BS[CROSS_ENTROPY] + lax.stop_gradient(z_loss * terms_BS[Z_LOSS]) if z_loss",
            ),
        ),
        code="SEM807",
        key=SECOND,
        says="`z_loss` has no gradient",
        equal_loss=True,
    ),
    SemanticFault(
        "z-gradient-over-tokens-twice",
        (
            (
                STEP,
                GRAD,
                "            def auxiliary(params: Params) -> jax.Array:\n"
                "                terms_BS = self._terms(params, rows, self._key(state.step, microbatch))\n"
                '                return self.cfg.z_loss * summed(terms_BS["z_loss"], rows["loss_mask"]) / tokens\n\n'
                "            loss, grads = jax.value_and_grad(part)(params, rows, microbatch)\n"
                "            whole = jax.grad(auxiliary)(params)\n"
                "            grads = jax.tree.map(lambda g, z: g - z + z / tokens, grads, whole)\n"
                "            return jax.tree.map(jnp.add, total, (loss, grads)), None",
            ),
        ),
        code="SEM806",
        key=SECOND,
        says="divided by the counted tokens once more",
        equal_loss=True,
    ),
    SemanticFault(
        "z-loss-weighted-twice",
        ((LOSS, "+ z_loss * terms_BS[Z_LOSS]", "+ z_loss**2 * terms_BS[Z_LOSS]"),),
        code="SEM806",
        key=SECOND,
        says="its weight is applied twice",
    ),
    SemanticFault(
        "z-loss-unweighted",
        ((LOSS, "+ z_loss * terms_BS[Z_LOSS]", "+ terms_BS[Z_LOSS]"),),
        code="SEM806",
        key=SECOND,
        says="its weight is not applied",
    ),
    SemanticFault(
        "z-loss-of-padding",
        (
            (
                STEP,
                PART,
                "            whole = jnp.sum(terms_BS[Z_LOSS]) * self.cfg.z_loss\n"
                '            return (summed(terms_BS[CROSS_ENTROPY], batch["loss_mask"]) + whole) / tokens',
            ),
        ),
        code="SEM808",
        key="objective.terms",
        says="belongs to no promised term",
    ),
    SemanticFault(
        "gradient-of-the-last-microbatch",
        (
            (
                STEP,
                GRAD,
                "            loss, grads = jax.value_and_grad(part)(params, rows, microbatch)\n"
                "            return (total[0] + loss, grads), None",
            ),
        ),
        code="SEM808",
        key="objective.terms",
        says="belongs to no promised term",
        equal_loss=True,
    ),
    SemanticFault(
        "gradient-divided-behind-the-sum",
        (
            (
                STEP,
                "        return loss, grads, tokens\n",
                "        grads = jax.tree.map(lambda g: g / self.cfg.microbatches, grads)\n"
                "        return loss, grads, tokens\n",
            ),
        ),
        code="SEM806",
        key=FIRST,
        says="divided by the number of microbatches once more",
        equal_loss=True,
    ),
    SemanticFault(
        "accumulated-in-bfloat16",
        (
            (
                STEP,
                "jax.tree.map(jnp.zeros_like, params))\n",
                "jax.tree.map(lambda p: jnp.zeros_like(p, jnp.bfloat16), params))\n",
            ),
            (
                STEP,
                GRAD,
                "            loss, grads = jax.value_and_grad(part)(params, rows, microbatch)\n"
                "            grads = jax.tree.map(lambda t, g: t + g.astype(t.dtype), total[1], grads)\n"
                "            return (total[0] + loss, grads), None",
            ),
        ),
        code="SEM809",
        key="accumulation.dtype",
        says="in bfloat16, promised is float32",
        equal_loss=True,
    ),
    SemanticFault(
        "norm-counts-replicas",
        (
            (
                OPTIM,
                "        total += jax.shard_map(squares, in_specs=places, out_specs=PartitionSpec())(*leaves)",
                "        mesh = jax.sharding.get_abstract_mesh()\n"
                "        same = mesh.size\n"
                "        for axis in axes:\n"
                "            same //= mesh.shape[axis]\n"
                "        total += same * jax.shard_map(squares, in_specs=places, out_specs=PartitionSpec())(*leaves)",
            ),
        ),
        code="SEM810",
        key="optimizer.chain[1]",
        says="every element is counted once for each device that holds it",
        equal_loss=True,
    ),
    SemanticFault(
        "clip-behind-the-optimizer",
        (
            (
                STEP,
                "                optim.clip(grads, norm, self.cfg.clip),",
                "                optim.clip(grads, norm, None),",
            ),
        ),
        code="SEM810",
        key="optimizer.chain[1]",
        says="it is not clipped before the optimizer",
        equal_loss=True,
    ),
    SemanticFault(
        "norm-without-root",
        ((OPTIM, "    return jnp.sqrt(total)", "    return total"),),
        code="SEM810",
        key="optimizer.chain[1]",
        says="the sum of squares, without its root",
        equal_loss=True,
    ),
    SemanticFault(
        "norms-decay",
        ((OPTIM, "weight_decay=cfg.weight_decay, mask=decayed)", "weight_decay=cfg.weight_decay)"),),
        code="SEM811",
        key="optimizer.chain[3].skip",
        says="decay, promised without",
        equal_loss=True,
    ),
    SemanticFault(
        "embedding-does-not-decay",
        ((OPTIM, 'path[-1].key != "scale"', 'path[-1].key not in ("scale", "table")'),),
        code="SEM811",
        key="optimizer.chain[3].rate",
        says="`embed/table` does not decay, promised with",
        equal_loss=True,
    ),
    SemanticFault(
        "another-learning-rate",
        ((OPTIM, "if cfg.warmup else cfg.learning_rate\n", "if cfg.warmup else cfg.learning_rate / 10\n"),),
        code="SEM812",
        key="optimizer.chain[4]",
        says="at a rate of 0.0003, promised is 0.003",
        equal_loss=True,
    ),
    SemanticFault(
        "same-key-for-every-microbatch",
        ((STEP, "self.cfg.seed), step), microbatch)", "self.cfg.seed), step), 0)"),),
        code="SEM813",
        key="rng.streams.dropout",
        says="all microbatches of a step",
        equal_loss=True,
    ),
    SemanticFault(
        "same-key-for-every-step",
        ((STEP, "self.cfg.seed), step), microbatch)", "self.cfg.seed), 0), microbatch)"),),
        code="SEM813",
        key="rng.streams.dropout",
        says="every step",
        equal_loss=True,
    ),
    SemanticFault(
        "dropout-without-a-key",
        ((STEP, "        if not self.cfg.dropout:\n", "        if True:\n"),),
        code="SEM813",
        key="rng.streams.dropout",
        says="draws no random numbers",
        equal_loss=True,
    ),
    SemanticFault(
        "loss-logged-as-a-sum",
        ((STEP, 'metrics = {"loss": loss,', 'metrics = {"loss": loss * self.cfg.microbatches,'),),
        code="SEM814",
        key="metrics.loss",
        says="without a division by their number",
    ),
)
