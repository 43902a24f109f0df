"""The training step: (state, batch) -> (state, metrics), as a pure function.

Collectives of one step with N microbatches; layers, norms, embedding and head say which is theirs. All counts are
elements on one device. P: parameters after `heads`, `mlp` and `vocab` are split, before `embed` is; Pl: those of the
layers, norms included; b = B / (N * size of the batch axes).

    cause            where                 kind, axes                    elements in one step
    embed sharded    `gathered`            all-gather over embed         N * (2 * Pl + P - Pl); N * P with remat="none"
    batch sharded    gradient of a weight  all-reduce over batch         N * P, and N * the table's once more if tied;
                                                                         with embed sharded only a slice is kept
                     `summed`, `counted`   all-reduce over batch         N + 1 scalars
    heads, mlp       `Attention`, `Mlp`    all-reduce over heads, mlp    N * 8L * b*S*D: forward 2L, backward 5L, and 1L
                                                                         in remat (the second is not needed there).
                                                                         Plain MLP: 1L less; remat="none": 1L less
    vocab            `Embedding`           all-reduce over vocab         N * b*S*D
                     `token_terms`         all-reduce over vocab         N * 3 * b*S, master dtype
                     the head's input      all-reduce over vocab         N * b*S*D, master dtype
    optimizer axes   `update`              all-gather over them          P, once, in the master dtype
    clip             `global_norm`         all-reduce over a set         1 scalar for each distinct set of axes that
                     some
                                                                         parameter is sharded over
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from . import optim
from .config import TrainerConfig
from .data import Batch, Language
from .layers import Packing
from .loss import CROSS_ENTROPY, Z_LOSS, counted, summed, token_loss, token_terms
from .mesh import Placement
from .model import Model, Params

BATCH_DTYPES: Mapping[str, Any] = {"tokens": jnp.int32, "targets": jnp.int32, "loss_mask": jnp.float32}
PACKED_DTYPES: Mapping[str, Any] = {"segment_ids": jnp.int32, "positions": jnp.int32}
"""What rows of several documents have beside these."""


@partial(jax.tree_util.register_dataclass, data_fields=["params", "opt_state", "step"], meta_fields=[])
@dataclass
class TrainState:
    """Everything a step reads and replaces."""

    params: Params
    opt_state: Any
    step: jax.Array  # scalar int32: finished steps


class TrainStep:
    """One configured step. Its public attributes are what a contract's build function returns.

    fn: the step, not jitted but to be traced (as `loss_and_grads` and `loss_terms` are).  args: its abstract
    arguments, placed.  donate: argument names whose buffers are reused. carry: output position -> the argument it
    replaces in the next step.
    """

    donate = ("state",)
    static = ()

    def __init__(self, cfg: TrainerConfig, place: Placement) -> None:
        self.cfg, self.place = cfg, place
        self.model = Model(cfg, place)
        self.tx = optim.transformation(cfg)
        self.language = Language(cfg.vocab, cfg.seed)
        self.specs = jax.tree.map(lambda axes: place.spec(*axes), self.model.logical, is_leaf=_is_axes)
        self.args = (self._abstract_state(), self._abstract_batch())
        self.kwargs: dict[str, Any] = {}
        self.carry = {0: "state"}
        self.fn = self.train_step
        self._init = jax.jit(self.init, out_shardings=jax.tree.map(lambda leaf: leaf.sharding, self.args[0]))

    def train_step(self, state: TrainState, batch: Batch) -> tuple[TrainState, dict[str, jax.Array]]:
        """One step over the global batch: the new state, and loss (nats for each token), grad_norm (before clipping),
        tokens."""
        with self.place.context():
            loss, grads, tokens = self._accumulate(state, batch)
            norm = optim.global_norm(grads, self.specs)
            params, opt_state = optim.update(
                self.tx,
                optim.clip(grads, norm, self.cfg.clip),
                state.opt_state,
                state.params,
                self.model.logical,
                self.place,
            )
            metrics = {"loss": loss, "grad_norm": norm, "tokens": tokens}
            return TrainState(params, opt_state, state.step + 1), metrics

    def loss_and_grads(self, state: TrainState, batch: Batch) -> tuple[jax.Array, Params]:
        """The loss and its gradients in the master dtype, placed as the parameters; before clipping."""
        with self.place.context():
            return self._accumulate(state, batch)[:2]

    def loss_terms(self, state: TrainState, batch: Batch) -> dict[str, tuple[jax.Array, jax.Array]]:
        """Each term of the loss as (sum, denominator), unweighted, over all rows at once, without microbatches."""
        with self.place.context():
            terms_BS = self._terms(state.params, batch, self._key(state.step, 0))
            tokens = counted(batch["loss_mask"], self.cfg.master_dtype)
            kept = (CROSS_ENTROPY, Z_LOSS) if self.cfg.z_loss else (CROSS_ENTROPY,)
            return {name: (summed(terms_BS[name], batch["loss_mask"]), tokens) for name in kept}

    def example(self, index: int) -> tuple[tuple[TrainState, Batch], dict[str, Any]]:
        """Concrete arguments for loop step `index`: the initial state, and batch `index` of the synthetic language."""
        return (self.initial_state(), self.batch(index)), {}

    def resumable(self, folder: str) -> Any:
        """A run of this step that is saved in `folder`."""
        from .resumable import TrainerRun

        return TrainerRun(self, folder)

    def initial_state(self) -> TrainState:
        """A fresh state, drawn where it lives."""
        return self._init(jax.random.key(self.cfg.seed))

    def batch(self, index: int) -> Batch:
        """Batch `index` of the synthetic language, on the devices."""
        make = self.language.packed if self.cfg.packed else self.language.batch
        return self.on_devices(make(index, self.cfg.batch, self.cfg.sequence))

    def on_devices(self, values: Batch) -> Batch:
        """A whole batch put where the step takes it."""
        return {name: jax.device_put(value, self.args[1][name].sharding) for name, value in values.items()}

    def init(self, key: jax.Array) -> TrainState:
        """Parameters, and slots in the placement of the optimizer."""
        with self.place.context():
            params = self.model.init(key)
            slots = optim.to_slots(params, self.model.logical, self.place)
            return TrainState(params, self.tx.init(slots), jnp.zeros((), jnp.int32))

    def _terms(self, params: Params, batch: Batch, key: jax.Array | None) -> dict[str, jax.Array]:
        """Each term of each token of these rows, unweighted."""
        logits_BSV = self.model.logits(params, batch["tokens"], key, Packing.of(batch))
        return token_terms(logits_BSV, batch["targets"])

    def _key(self, step: jax.Array, microbatch: jax.Array | int) -> jax.Array | None:
        """What is dropped is a function of (seed, step, microbatch) alone: no key is part of the state."""
        if not self.cfg.dropout:
            return None
        return jax.random.fold_in(jax.random.fold_in(jax.random.key(self.cfg.seed), step), microbatch)

    def _accumulate(self, state: TrainState, batch: Batch) -> tuple[jax.Array, Params, jax.Array]:
        """Loss and gradients as the sum over microbatches of parts that already have the step's denominator; and that
        denominator.

        The tokens are counted first, over the whole batch: a mean of microbatch means would weigh tokens by their
        microbatch.
        """
        params = state.params
        tokens = counted(batch["loss_mask"], self.cfg.master_dtype)

        def part(params: Params, batch: Batch, microbatch: jax.Array | int) -> jax.Array:
            terms_BS = self._terms(params, batch, self._key(state.step, microbatch))
            return summed(token_loss(terms_BS, self.cfg.z_loss), batch["loss_mask"]) / tokens

        def body(total: tuple[jax.Array, Params], given: tuple[Batch, Any]) -> tuple[tuple[jax.Array, Params], None]:
            rows, microbatch = given
            return jax.tree.map(jnp.add, total, jax.value_and_grad(part)(params, rows, microbatch)), None

        numbers = jnp.arange(self.cfg.microbatches) if self.cfg.dropout else None
        zero = (jnp.zeros((), self.cfg.master_dtype), jax.tree.map(jnp.zeros_like, params))
        (loss, grads), _ = jax.lax.scan(body, zero, (jax.tree.map(self._split, batch), numbers))
        return loss, grads, tokens

    def _split(self, x_BS: jax.Array) -> jax.Array:
        """[B, S] -> [N, B/N, S]. Microbatch n takes every N-th sequence, so each device's part of every microbatch is
        on it already; [N, B/N] straight from the reshape would move the batch."""
        shape = (self.cfg.batch // self.cfg.microbatches, self.cfg.microbatches, *x_BS.shape[1:])
        split = jnp.reshape(x_BS, shape, out_sharding=self.place.activation(None, None))
        return jnp.swapaxes(split, 0, 1)

    def _abstract_state(self) -> TrainState:
        with self.place.context():
            shapes = jax.eval_shape(self.init, jax.eval_shape(lambda: jax.random.key(0)))
        # The shapes carry the abstract mesh; callers put real arrays there, so they need the one with devices.
        return jax.tree.map(self._on_devices, shapes)

    def _on_devices(self, leaf: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
        spec = leaf.sharding.spec if leaf.sharding is not None else PartitionSpec()  # counters carry no placement
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=self.place.sharding(spec))

    def _abstract_batch(self) -> Batch:
        shape, sharding = (self.cfg.batch, self.cfg.sequence), self.place.sharding(self.place.activation(None))
        dtypes = {**BATCH_DTYPES, **(PACKED_DTYPES if self.cfg.packed else {})}
        return {name: jax.ShapeDtypeStruct(shape, dtype, sharding=sharding) for name, dtype in dtypes.items()}


def _is_axes(node: Any) -> bool:
    return isinstance(node, tuple)
