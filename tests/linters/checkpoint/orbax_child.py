"""Checkpoints as Orbax, Optax and Flax make them on 8 devices, below the folder that is named: no code of ours."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import tensorstore
from flax.training.train_state import TrainState
from jax.sharding import Mesh, NamedSharding, PartitionSpec

OUT = Path(sys.argv[1]).resolve()
MESH = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "fsdp"))
RANDOM = np.random.default_rng(0)
WAITS = {"create_directories_asynchronously": False}
"""Without it an item that holds items may be saved before its own folder is there."""


def array(*shape: int, axes: tuple[str | None, ...] = (), dtype: str = "float32") -> jax.Array:
    return jax.device_put(jnp.asarray(RANDOM.standard_normal(shape), dtype), NamedSharding(MESH, PartitionSpec(*axes)))


params = {
    "embed": array(32, 8, axes=("data", "fsdp")),
    "layers": {"w": array(64, 256, axes=("fsdp", None)), "scale": array(8, dtype="bfloat16")},
    "blocks": [array(4), array(10)],
    "none": {},
}
state = {
    "params": params,
    "opt_state": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3)).init(params),
    "step": jnp.int32(3),
    "rng": jax.random.key_data(jax.random.key(0)),
    "count": 7,
    "absent": None,
}


def save(name: str, tree: object, **options: bool) -> None:
    ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**options)).save(OUT / name, tree)


save("ocdbt", state | {"words": "text"}, use_ocdbt=True)
save("zarr", state, use_ocdbt=False)
save("turned", {"order": np.asfortranarray(np.ones((3, 4), "f4")), "bytes": np.ones((3, 4), ">f4")}, use_ocdbt=False)
save("zarr3", state, use_ocdbt=False, use_zarr3=True)
save("ocdbt3", state, use_ocdbt=True, use_zarr3=True)

# A user of Flax and Optax: parts of the parameters have optimizers of their own, one is frozen.
labels = {"embed": "first", "layers": "second", "blocks": "frozen", "none": {}}
optimizer = optax.multi_transform(
    {"first": optax.adam(1e-3), "second": optax.adamw(1e-3), "frozen": optax.set_to_zero()}, labels
)
train_state = TrainState.create(apply_fn=lambda *_: None, params=params, tx=optimizer)
with ocp.CheckpointManager(
    OUT / "run", options=ocp.CheckpointManagerOptions(max_to_keep=2), item_names=("state", "data")
) as manager:
    for step in (100, 200, 300):
        data = ocp.args.JsonSave({"next_index": step})
        manager.save(step, args=ocp.args.Composite(state=ocp.args.StandardSave(train_state), data=data))

# Plain zarr in the items of a step: each array is a folder below the folder of its item.
for name, version3 in (("items", False), ("items3", True)):
    handlers = {
        "state": ocp.PyTreeCheckpointHandler(use_ocdbt=False, use_zarr3=version3),
        "data": ocp.JsonCheckpointHandler(),
        "rng": ocp.JaxRandomKeyCheckpointHandler(),
        "numpy": ocp.NumpyRandomKeyCheckpointHandler(),
        "mine": ocp.JaxRandomKeyCheckpointHandler("seed"),
        "mean": ocp.ArrayCheckpointHandler(),
    }
    with ocp.CheckpointManager(OUT / name, item_handlers=handlers, item_names=tuple(handlers)) as manager:
        parts = ocp.args.Composite(
            state=ocp.args.PyTreeSave(state),
            data=ocp.args.JsonSave({"next_index": 1}),
            rng=ocp.args.JaxRandomKeySave(jax.random.key(0)),
            numpy=ocp.args.NumpyRandomKeySave(np.random.RandomState(0).get_state()),
            mine=ocp.args.JaxRandomKeySave(jax.random.split(jax.random.key(1), 3)),
            mean=ocp.args.ArraySave(jnp.ones(3)),
        )
        manager.save(1, args=parts)

# Items in an item of a step.
try:
    from orbax.checkpoint._src.handlers.composite_checkpoint_handler import CompositeOptions

    known = {"composite_options": CompositeOptions(async_options=ocp.options.AsyncOptions(**WAITS))}
except (ImportError, TypeError):
    known = {}
inner = {"first": ocp.PyTreeCheckpointHandler(), "second": ocp.PyTreeCheckpointHandler(use_ocdbt=False)}
inner |= {"about": ocp.JsonCheckpointHandler(), "rng": ocp.JaxRandomKeyCheckpointHandler()}
handlers = {"outer": ocp.CompositeCheckpointHandler(**inner, **known)}
with ocp.CheckpointManager(OUT / "nested", item_handlers=handlers, item_names=("outer",)) as manager:
    parts = ocp.args.Composite(
        first=ocp.args.PyTreeSave({"params": params}),
        second=ocp.args.PyTreeSave({"params": params}),
        about=ocp.args.JsonSave({"a": 1}),
        rng=ocp.args.JaxRandomKeySave(jax.random.key(0)),
    )
    manager.save(1, args=ocp.args.Composite(outer=parts))

# Parts of the state. Older versions of Orbax know no placeholders, no steps in parts and no trees that are one array.
save("weights", {"params": params})
if tuple(map(int, ocp.__version__.split(".")[:2])) >= (0, 12):
    from orbax.checkpoint.experimental.v1 import partial

    for layout in ("ocdbt", "zarr", "zarr3"):
        save(f"one_{layout}", params["embed"], use_ocdbt=layout == "ocdbt", use_zarr3=layout == "zarr3")
    save("placeholders", {**state, "params": {**params, "layers": {**params["layers"], "w": ...}}, "step": ...})
    for part in ({"params": params}, {"opt_state": state["opt_state"], "step": state["step"]}):
        partial.save(OUT / "parts/100", part)
    partial.finalize(OUT / "parts/100")
    partial.save(OUT / "parts/200", {"params": params})

    def given(name: str, template: object | None) -> dict[str, str]:
        """Leaf -> type of what a restore gives for it, one that takes what there is."""
        wanted = ocp.args.PyTreeRestore()
        if template is not None:
            arguments = ocp.checkpoint_utils.construct_restore_args(template)
            wanted = ocp.args.PyTreeRestore(item=template, restore_args=arguments, partial_restore=True)
        got = ocp.Checkpointer(ocp.PyTreeCheckpointHandler()).restore(OUT / name, args=wanted)
        leaves = jax.tree_util.tree_flatten_with_path(got)[0]
        return {jax.tree_util.keystr(path, simple=True, separator="/"): type(leaf).__name__ for path, leaf in leaves}

    abstract = jax.tree.map(
        ocp.utils.to_shape_dtype_struct, {key: state[key] for key in ("params", "opt_state", "step")}
    )
    restored = {"weights": given("weights", abstract), "placeholders": given("placeholders", None)}
    restored["zarr"] = given("zarr", {"params": {"embed": abstract["params"]["embed"]}})
    (OUT / "restored.json").write_text(json.dumps(restored))

# A database whose index has several levels.
store = tensorstore.KvStore.open(
    {"driver": "ocdbt", "base": f"file://{OUT}/tree/", "config": {"max_decoded_node_bytes": 500}}
).result()
with tensorstore.Transaction() as transaction:
    for number in range(600):
        store.with_transaction(transaction)[f"params.layer_{number % 7}.w{number}/{number % 3}.0"] = b"x" * 10
print(*sorted(key.decode() for key in store.list().result()), sep="\n")
