"""The planted faults, as data: what is changed in which example, and what `verify` must say."""

from __future__ import annotations

from harness import Fault

PLAIN = "train.py"
PRINT = 'jax.debug.print("x {}", x[0, 0, 0])'

FAULTS = (
    # A PartitionSpec that is dropped.
    Fault(
        "dropped-spec",
        "plain_flax",
        ((PLAIN, '"blocks/up/kernel": P(None, "fsdp")', '"blocks/up/kernel": P()'),),
        code="SHD202",
        key="parameters.rules",
    ),
    Fault(
        "dropped-spec",
        "dense_fsdp",
        (
            (
                "layers/mlp.py",
                'self.w_up = weight(cfg, place, rngs, (width, inner), ("embed", "mlp")',
                'self.w_up = weight(cfg, place, rngs, (width, inner), ("layer", "mlp")',
            ),
        ),
        code="SHD202",
        key="parameters.rules",
    ),
    # A mesh axis that is misspelt.
    Fault(
        "misspelt-axis",
        "plain_flax",
        ((PLAIN, "NamedSharding(mesh, P(None, *BATCH_SPEC))", 'NamedSharding(mesh, P(None, ("data", "fdsp"), None))'),),
        code="SHD201",
        marker=(PLAIN, '"fdsp"'),
    ),
    Fault(
        "misspelt-axis",
        "dense_fsdp",
        (
            (
                "layers/mlp.py",
                "inner_BSF, w_FD, out_sharding=self.place.activation(None, None))",
                'inner_BSF, w_FD, out_sharding=jax.P(("data", "fdsp")))',
            ),
        ),
        code="SHD201",
        marker=("layers/mlp.py", '"fdsp"'),
    ),
    # Microbatches split so that the batch is no longer sharded.
    Fault(
        "microbatch-split",
        "plain_flax",
        (
            (
                PLAIN,
                "x.reshape(batch // microbatches, microbatches, sequence).swapaxes(0, 1)",
                "x.reshape(microbatches, batch // microbatches, sequence)",
            ),
        ),
        code="SHD204",
        marker=(PLAIN, "x.reshape(microbatches"),
    ),
    # State that is not donated.
    Fault(
        "not-donated",
        "plain_flax",
        ((PLAIN, 'donate=("state",)', "donate=()"),),
        code="MEM204",
        key="step.train.donate",
    ),
    Fault(
        "not-donated",
        "shard_map_dp",
        ((PLAIN, 'donate=("state",)', "donate=()"),),
        code="MEM204",
        key="step.train.donate",
    ),
    Fault(
        "not-donated",
        "dense_fsdp",
        (("step.py", '    donate = ("state",)', "    donate = ()"),),
        code="MEM204",
        key="step.train.donate",
    ),
    # Callbacks left in.
    Fault(
        "debug-print",
        "dense_fsdp",
        (
            (
                "layers/mlp.py",
                "        w_FD = gathered(",
                '        jax.debug.print("inner {}", jnp.max(inner_BSF))\n        w_FD = gathered(',
            ),
        ),
        code="JIT202",
        marker=("layers/mlp.py", "jax.debug.print"),
    ),
    Fault(
        "debug-print",
        "plain_flax",
        (
            (
                PLAIN,
                "            return constrain(nnx.merge(graph, params)(x)), None",
                f"            {PRINT}\n            return constrain(nnx.merge(graph, params)(x)), None",
            ),
        ),
        code="JIT202",
        marker=(PLAIN, "jax.debug.print"),
        run=True,
    ),
    Fault(
        "io-callback",
        "shard_map_dp",
        (
            (
                PLAIN,
                "        loss, grads = loss_and_grads(state, batch)\n",
                "        loss, grads = loss_and_grads(state, batch)\n        jax.experimental.io_callback(lambda value: None, None, loss)\n",
            ),
            (PLAIN, "import jax\n", "import jax\nimport jax.experimental\n"),
        ),
        code="JIT202",
        marker=(PLAIN, "io_callback"),
    ),
    # A static scalar that changes each step.
    Fault(
        "static-scalar",
        "plain_flax",
        (
            (PLAIN, "def train_step(state, batch):", "def train_step(state, batch, scale):"),
            (
                PLAIN,
                "loss, grads = loss_and_grads(state, batch)\n        updates",
                "loss, grads = loss_and_grads(state, batch)\n        loss = loss * (1 + 0 * scale)\n        updates",
            ),
            (PLAIN, "batch_sharding)), {}", "batch_sharding), index), {}"),
            (PLAIN, "args=(state, inputs)", "args=(state, inputs, 0)"),
            (PLAIN, "static=()", 'static=("scale",)'),
            (PLAIN, "    def loss_and_grads(state, batch):", "    def loss_and_grads(state, batch, scale=0):"),
        ),
        code="JIT207",
        key="step.train.static",
        run=True,
    ),
    # A Python float on step 1, an array on step 2.
    Fault(
        "weak-then-strong",
        "plain_flax",
        (
            (PLAIN, "def train_step(state, batch):", "def train_step(state, batch, scale):"),
            (
                PLAIN,
                "loss, grads = loss_and_grads(state, batch)\n        updates",
                "loss, grads = loss_and_grads(state, batch)\n        loss = loss * scale\n        updates",
            ),
            (PLAIN, "batch_sharding)), {}", "batch_sharding), 1.0 if index == 0 else jnp.float32(1.0)), {}"),
            (PLAIN, "args=(state, inputs)", "args=(state, inputs, jax.ShapeDtypeStruct((), jnp.float32))"),
            (PLAIN, "    def loss_and_grads(state, batch):", "    def loss_and_grads(state, batch, scale=1.0):"),
        ),
        code="JIT301",
        key="step.train.compiles",
        run=True,
    ),
    # A closed-over constant of 64 MiB.
    Fault(
        "large-constant",
        "plain_flax",
        (
            (
                PLAIN,
                "        loss, grads = loss_and_grads(state, batch)\n",
                "        loss, grads = loss_and_grads(state, batch)\n        loss = loss + 0 * jnp.sum(jnp.sin(table))\n",
            ),
            (
                PLAIN,
                "    optimizer = optax.adamw(1e-3)\n",
                "    optimizer = optax.adamw(1e-3)\n    table = np.ones((4096, 4096), np.float32)\n",
            ),
        ),
        code="JIT203",
        marker=(PLAIN, "jnp.sin(table)"),
    ),
    Fault(
        "large-constant",
        "dense_fsdp",
        (
            (
                "step.py",
                "            norm = optim.global_norm(grads, self.specs)\n",
                "            norm = optim.global_norm(grads, self.specs)\n            loss = loss + 0 * jnp.sum(jnp.sin(TABLE))\n",
            ),
            (
                "step.py",
                "BATCH_DTYPES: Mapping",
                "import numpy as np\n\nTABLE = np.ones((4096, 4096), np.float32)\nBATCH_DTYPES: Mapping",
            ),
        ),
        code="JIT203",
        marker=("step.py", "jnp.sin(TABLE)"),
    ),
    # A batch that the mesh does not divide.
    Fault(
        "indivisible-batch",
        "plain_flax",
        ((PLAIN, "    optimizer = optax.adamw(1e-3)\n", "    optimizer = optax.adamw(1e-3)\n    batch += 4\n"),),
        code="SHD201",
    ),
    Fault(
        "indivisible-batch",
        "shard_map_dp",
        ((PLAIN, "    optimizer = optax.adam(1e-3)\n", "    optimizer = optax.adam(1e-3)\n    batch += 4\n"),),
        code="SHD201",
    ),
    # Optimizer slots that are replicated.
    Fault(
        "replicated-slots",
        "plain_flax",
        ((PLAIN, 'if name.endswith("/" + suffix)]', 'if name.endswith("/" + suffix) and "opt_state" not in name]'),),
        code="SHD202",
        key="optimizer.placement",
    ),
    Fault(
        "replicated-slots",
        "dense_fsdp",
        (
            (
                "step.py",
                "            slots = optim.to_slots(params, self.model.logical, self.place)\n",
                "            slots = jax.tree.map(lambda p: jax.sharding.reshard(p, PartitionSpec()), params)\n",
            ),
        ),
        code="SHD202",
        key="optimizer.placement",
    ),
    # A sharding constraint that forces an all-gather.
    Fault(
        "gathering-constraint",
        "plain_flax",
        (
            (
                PLAIN,
                "            return constrain(nnx.merge(graph, params)(x)), None",
                "            x = whole(x)\n            return constrain(nnx.merge(graph, params)(x)), None",
            ),
        ),
        code="SHD204",
        marker=(PLAIN, "x = whole(x)"),
    ),
    Fault(
        "gathering-constraint",
        "dense_fsdp",
        (
            (
                "layers/mlp.py",
                '        if self.cfg.mlp == "gated":\n            inner_BSF',
                '        x_BSD = jax.sharding.reshard(jax.sharding.reshard(x_BSD, jax.P()), self.place.activation(None, None))\n        if self.cfg.mlp == "gated":\n            inner_BSF',
            ),
        ),
        code="SHD204",
        marker=("layers/mlp.py", "jax.P()"),
    ),
    # A parameter that is gathered twice.
    Fault(
        "gathered-twice",
        "dense_fsdp",
        (
            (
                "layers/mlp.py",
                '        return jnp.einsum("bsf,fd->bsd", inner_BSF, w_FD,',
                '        again_FD = gathered(self.w_down[...], self.cfg.compute_dtype, self.place, "mlp", "embed")\n        w_FD = (w_FD + again_FD) / 2\n        return jnp.einsum("bsf,fd->bsd", inner_BSF, w_FD,',
            ),
        ),
        code="SHD208",
        marker=("layers/mlp.py", "again_FD = gathered"),
    ),
    # A loss that is divided by local tokens.
    Fault(
        "local-normaliser",
        "shard_map_dp",
        (
            (
                PLAIN,
                'total = jax.lax.psum(jnp.sum(batch["weights"].astype(master)), "data")',
                'total = jnp.sum(batch["weights"]) * jax.lax.axis_size("data")',
            ),
        ),
        code="SEM301",
        key="step.train",
        run=True,
    ),
    Fault(
        "local-normaliser",
        "plain_flax",
        (
            (
                PLAIN,
                'return jnp.sum(losses * micro["mask"]) / tokens',
                'return jnp.sum(losses * micro["mask"]) / jnp.sum(micro["mask"]) / microbatches',
            ),
        ),
        code="SEM301",
        key="step.train",
        run=True,
    ),
    # A gradient reduction that is missing.
    Fault(
        "missing-reduction",
        "shard_map_dp",
        ((PLAIN, '        grads = jax.lax.psum(grads, "data")\n', ""),),
        code="SHD205",
        key="collectives",
        run=True,
    ),
    # Layers unrolled instead of scanned.
    Fault(
        "unrolled-layers",
        "plain_flax",
        (
            (
                PLAIN,
                "        x, _ = jax.lax.scan(layer, x, stacked)\n",
                "        for index in range(self.up_layers):\n            x, _ = layer(x, jax.tree.map(lambda p: p[index], stacked))\n",
            ),
            (
                PLAIN,
                "        self.blocks = stack(rngs)\n",
                "        self.blocks = stack(rngs)\n        self.up_layers = layers\n",
            ),
        ),
        code="JIT204",
        marker=(PLAIN, "x, _ = layer(x"),
    ),
    Fault(
        "unrolled-layers",
        "dense_fsdp",
        (
            (
                "model.py",
                "        return jax.lax.scan(layer, x_BSD, (stacked, keys))[0]",
                "        for index in range(self.cfg.layers):\n            x_BSD, _ = layer(x_BSD, jax.tree.map(lambda p: p[index], (stacked, keys)))\n        return x_BSD",
            ),
        ),
        code="JIT204",
        # Under jax.checkpoint the program keeps no line of the loop, only those inside the layer.
        marker=("model.py", "return nnx.merge(graph, params)(x_BSD, keys, packing), None"),
    ),
    Fault(
        "unrolled-layers",
        "shard_map_dp",
        (
            (
                PLAIN,
                '        x, _ = jax.lax.scan(layer, x, params["layers"]["kernel"])\n',
                '        for index in range(layers):\n            x, _ = layer(x, params["layers"]["kernel"][index])\n',
            ),
        ),
        code="JIT204",
        marker=(PLAIN, "x, _ = layer(x"),
    ),
)
