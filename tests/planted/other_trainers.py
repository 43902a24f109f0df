"""The planted faults of two trainers that were written without contract-lint: a Linen TrainState, and Equinox."""

from __future__ import annotations

from harness import Fault

TRAIN = "train.py"
LINEN, EQUINOX = "linen_trainstate", "equinox_optax"
LINEN_LINE = "    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup_steps=10, decay_steps=100)\n"
EQUINOX_LINE = "    optimizer = optax.adamw(3e-4)\n"


def _edit(*pairs: tuple[str, str]) -> tuple[tuple[str, str, str], ...]:
    return tuple((TRAIN, old, new) for old, new in pairs)


OTHER_TRAINERS = (
    # The batch's PartitionSpec is dropped, or a parameter's.
    Fault(
        "dropped-spec",
        LINEN,
        _edit(('BATCH_SPEC = P("data")', "BATCH_SPEC = P()")),
        code="SHD212",
        key="batch.axes",
    ),
    Fault(
        "dropped-spec",
        EQUINOX,
        _edit(("SMALLEST_SPLIT = 1024", "SMALLEST_SPLIT = 8192")),
        code="SHD202",
        key="parameters.logical_axes.position",
    ),
    # State that is not donated.
    Fault(
        "not-donated",
        LINEN,
        _edit(("donate_argnums=(0,), ", "")),
        code="MEM204",
        key="step.train.donate",
    ),
    Fault(
        "not-donated",
        EQUINOX,
        _edit(('donate="all-except-first"', 'donate="none"')),
        code="MEM204",
        key="step.train.donate",
    ),
    # A print left in the layer.
    Fault(
        "debug-print",
        LINEN,
        _edit(
            (
                "        x = x + drop(y)\n",
                '        x = x + drop(y)\n        jax.debug.print("x {}", x[0, 0, 0])\n',
            )
        ),
        code="JIT202",
        marker=(TRAIN, "jax.debug.print"),
    ),
    Fault(
        "debug-print",
        EQUINOX,
        _edit(
            (
                "        x = x + jnp.tril",
                '        jax.debug.print("x {}", x[0, 0])\n        x = x + jnp.tril',
            )
        ),
        code="JIT202",
        marker=(TRAIN, "jax.debug.print"),
    ),
    # A batch that the mesh does not divide.
    Fault(
        "indivisible-batch",
        LINEN,
        _edit((LINEN_LINE, f"{LINEN_LINE}    batch += 4\n")),
        # The reshape to one row of devices is refused before any placement is asked for.
        code="JIT201",
        marker=(TRAIN, "return x.reshape(devices"),
    ),
    Fault(
        "indivisible-batch",
        EQUINOX,
        _edit((EQUINOX_LINE, f"{EQUINOX_LINE}    batch += 4\n")),
        code="SHD201",
    ),
    # The mean over devices of each device's mean.
    Fault(
        "local-normaliser",
        LINEN,
        _edit(("jnp.sum(x) / jnp.sum(tokens)", "jnp.mean(x / tokens)")),
        code="SEM301",
        key="step.train",
        run=True,
    ),
    Fault(
        "local-normaliser",
        EQUINOX,
        _edit(
            (
                'return jnp.sum(losses * batch["mask"]) / jnp.maximum(jnp.sum(batch["mask"].astype(master)), 1)',
                'weights = batch["mask"].reshape(mesh.size, -1)\n'
                "        return jnp.mean(jnp.sum(losses.reshape(mesh.size, -1) * weights, 1) / jnp.sum(weights, 1))",
            )
        ),
        code="SEM301",
        key="step.train",
        run=True,
    ),
    # A Python number that changes each step: static by name, or static because Equinox traces arrays only.
    Fault(
        "static-scalar",
        LINEN,
        _edit(
            ("    def train_step(state, batch):", "    def train_step(state, batch, scale):"),
            (
                "return state.apply_gradients(grads=grads), metrics",
                'metrics["loss"] *= 1 + 0 * scale\n        return state.apply_gradients(grads=grads), metrics',
            ),
            ("by_row)), {}", "by_row), index), {}"),
            ("abstract(by_row), load(0))),", "abstract(by_row), load(0)), 0),"),
            ("donate_argnums=(0,), ", "donate_argnums=(0,), static_argnums=(2,), "),
            ("    def loss_and_grads(state, batch):", "    def loss_and_grads(state, batch, scale=0):"),
        ),
        code="JIT207",
        key="step.train.static",
        run=True,
    ),
    Fault(
        "static-scalar",
        EQUINOX,
        _edit(
            ("    def train_step(batch, model, opt_state):", "    def train_step(batch, model, opt_state, scale):"),
            ("return place(model), place(opt_state), loss", "return place(model), place(opt_state), loss * scale"),
            ("by_row), model, opt_state), {}", "by_row), model, opt_state, 1.0 + 0.1 * index), {}"),
            ("load(0).items()}, model, opt_state),", "load(0).items()}, model, opt_state, 1.0),"),
            (
                "    def loss_and_grads(batch, model, opt_state):",
                "    def loss_and_grads(batch, model, opt_state, scale):",
            ),
        ),
        code="JIT207",
        key="step.train.static",
        run=True,
    ),
    # A flag beside the arrays that is another one on step 2: Equinox compiles anew.
    Fault(
        "changed-flag",
        EQUINOX,
        _edit(
            (
                "return (jax.device_put(load(index), by_row),",
                'return ({**jax.device_put(load(index), by_row), "log": index > 0},',
            ),
            ("args=({name: abstract", 'args=({"log": False} | {name: abstract'),
        ),
        code="JIT301",
        key="step.train.compiles",
        run=True,
    ),
)
