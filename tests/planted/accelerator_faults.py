"""Planted faults that only an accelerator's program shows, or shows best; the steps lie in `steps/` and `examples/`."""

from __future__ import annotations

from dataclasses import replace

from harness import Fault

STEP = "train.py"

KERNEL = """

def fused(x):
    from jax.experimental import pallas as pl

    def kernel(read, write):
        write[...] = read[...] * 2

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
"""

ACCELERATOR_FAULTS = (
    # A cast inside the layer that makes float32 travel instead of bfloat16.
    Fault(
        "widened-gather",
        "dense_fsdp",
        (
            (
                "layers/mlp.py",
                'w_FD = gathered(self.w_down[...], self.cfg.compute_dtype, self.place, "mlp", "embed")',
                'w_FD = gathered(self.w_down[...], jnp.float32, self.place, "mlp", "embed").astype(inner_BSF.dtype)',
            ),
        ),
        code="NUM203",
        marker=("layers/mlp.py", "w_FD = gathered"),
    ),
    # NaNs replaced in every microbatch: no sum can move past it.
    Fault(
        "sum-kept-in-loop",
        "accumulate",
        (
            (
                STEP,
                "            return jax.tree.map(jnp.add, total, (loss, grads)), None\n",
                "            grads = jax.tree.map(lambda g: jnp.where(jnp.isfinite(g), g, 0), grads)\n"
                "            return jax.tree.map(jnp.add, total, (loss, grads)), None\n",
            ),
        ),
        code="SHD215",
        marker=(STEP, "jnp.isfinite"),
        effort="full",
    ),
    # A name that no checkpoint_name gives.
    Fault(
        "offload-of-no-name",
        "offload",
        ((STEP, 'names_which_can_be_offloaded=["hidden"]', 'names_which_can_be_offloaded=["hiden"]'),),
        code="MEM209",
        marker=(STEP, 'checkpoint_name(x, "hidden")'),
    ),
    # Slots whose sharding forgets the memory kind.
    Fault(
        "slots-left-on-device",
        "offload",
        (
            (
                STEP,
                'jax.tree.map(lambda leaf: abstract(leaf, slots), state["opt_state"])',
                'jax.tree.map(lambda leaf: abstract(leaf, "device"), state["opt_state"])',
            ),
            (
                STEP,
                "opt_state = jax.device_put(opt_state, placed(opt_state, slots))",
                'opt_state = jax.device_put(opt_state, placed(opt_state, "device"))',
            ),
        ),
        code="MEM209",
        key="memory.offload[1]",
    ),
    # The axis of the weights laid between slices or hosts.
    Fault(
        "weights-over-dcn",
        "plain_flax",
        (),
        code="SHD216",
        marker=(STEP, "return x + self.down(nnx.gelu(self.up(self.norm(x))))"),
        contract=(("mesh.dcn", {"fsdp": 2}),),
    ),
    # A width that is no multiple of the tile's.
    Fault(
        "padded-parameters",
        "offload",
        (),
        code="MEM210",
        key="memory.padding_max",
        contract=(
            ("step.train.args.width", 136),
            ("model.parameters", {"layers/kernel": [4, 136, 136]}),
            ("collectives.expect[0].elements", 4 * 136 * 136),
        ),
    ),
    # A kernel in the step.
    Fault(
        "kernel-slipped-in",
        "offload",
        (
            (STEP, "\n\n\ndef build(", KERNEL + "\n\ndef build("),
            (
                STEP,
                "        params = optax.apply_updates(",
                "        alone = jax.shard_map(fused, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)\n"
                "        loss = loss + 0 * jnp.sum(alone(jnp.full((8, 128), loss)))\n"
                "        params = optax.apply_updates(",
            ),
        ),
        code="JIT211",
        marker=(STEP, "pl.pallas_call("),
    ),
    # A policy that saves every activation.
    Fault(
        "saves-everything",
        "remat",
        ((STEP, 'checkpoint_policies.save_only_these_names("out")', "checkpoint_policies.everything_saveable"),),
        code="MEM206",
        marker=(STEP, "hidden = jnp.tanh"),
    ),
)


def fault_on(fault: Fault, place: str) -> Fault:
    """The fault as it shows on one place, where it differs there."""
    if fault.name == "saves-everything" and place in ("cuda", "hosts"):
        # That compiler refuses nothing: the finding is about the program, its promise the published memory.
        return replace(fault, code="MEM207", marker=None)
    return fault
