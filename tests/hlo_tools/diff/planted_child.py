"""Compiles variants of one small training step for eight simulated CPU devices and writes their programs.

`planted_child.py FOLDER NAME...` writes FOLDER/NAME.partitioned.txt and FOLDER/NAME.optimized.txt for each variant.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.pop("XLA_FLAGS", None)

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_compilation_cache", False)
MESH = jax.make_mesh((2, 4), ("data", "fsdp"), axis_types=(AxisType.Auto,) * 2)
WIDTH, ROWS = 128, 64
FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def struct(shape, *spec, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, P(*spec)))


@partial(jax.shard_map, mesh=MESH, in_specs=P("data", None), out_specs=P("data", None))
def gathered(rows):
    """Every row plus the largest of all rows, which each device looks for in a copy of its own."""
    return rows + jax.lax.stop_gradient(jnp.max(jax.lax.all_gather(rows, "data", tiled=True), axis=0))


def block(w, h, upcast=False, gather=False, callback=False):
    h = h.astype(jnp.bfloat16)
    up = h @ w["up"].astype(jnp.bfloat16)
    wide = up.astype(jnp.float32) if upcast else up
    up = jnp.tanh(wide).astype(jnp.bfloat16)
    if gather:
        up = gathered(up)
    if callback:
        jax.debug.callback(lambda value: None, up[0, 0])
    return h + up @ w["down"].astype(jnp.bfloat16)


def loss(params, x, plant, scanned, remat):
    h = x
    if scanned:
        h, _ = jax.lax.scan(lambda h, w: (jax.checkpoint(block)(w, h), None), h.astype(jnp.bfloat16), params)
        return jnp.mean(h.astype(jnp.float32) ** 2)
    for number, w in enumerate(params):
        with jax.named_scope(f"block_{number}"):
            apply = partial(block, **(plant if number == 1 else {}))
            h = (jax.checkpoint(apply) if remat[number] else apply)(w, h)
    return jnp.mean(h.astype(jnp.float32) ** 2)


def step(state, x, plant, scanned, remat):
    value, grads = jax.value_and_grad(loss)(state, x, plant, scanned, remat)
    return jax.tree.map(lambda p, g: p - 0.1 * g, state, grads), value


def build(name):
    layers = 4 if name.endswith("layer") else 3
    scanned = name.startswith("scan")
    plant = {name: True} if name in ("upcast", "gather", "callback") else {}
    remat = [name != "no_remat" or number != 1 for number in range(layers)]
    up, down = struct((WIDTH, 4 * WIDTH), "fsdp", None), struct((4 * WIDTH, WIDTH), "fsdp", None)
    state = [{"up": up, "down": down} for _ in range(layers)]
    if scanned:
        state = {
            "up": struct((layers, WIDTH, 4 * WIDTH), None, "fsdp", None),
            "down": struct((layers, 4 * WIDTH, WIDTH), None, "fsdp", None),
        }
    fn = partial(step, plant=plant, scanned=scanned, remat=remat)
    placed = jax.tree.map(lambda leaf: leaf.sharding, state)
    compiled = jax.jit(
        fn,
        donate_argnums=() if name == "undonated" else (0,),
        out_shardings=(placed, NamedSharding(MESH, P())),
    )
    return compiled.lower(state, struct((ROWS, WIDTH), "data", None, dtype=jnp.bfloat16))


def main() -> None:
    out = Path(sys.argv[1])
    for name in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as dump:
            options = {"xla_dump_to": dump, "xla_dump_hlo_as_text": True, "xla_dump_hlo_pass_re": "spmd-partition.*"}
            text = build(name).compile(compiler_options=options | FAST).as_text()
            (dumped,) = Path(dump).glob("*.spmd-partitioner.after_spmd-partitioning*.txt")
            (out / f"{name}.partitioned.txt").write_text(dumped.read_text())
        (out / f"{name}.optimized.txt").write_text(text)


if __name__ == "__main__":
    main()
