"""Packed rows against the same documents each in a row of its own, in float32 on eight devices."""

import json

import jax
import numpy as np
from contract_lint.runtime.trainer import build
from contract_lint.runtime.trainer.data import pack
from contract_lint.runtime.trainer.layers import Packing

SMALL = dict(d_model=32, layers=2, heads=4, kv_heads=2, d_ff=64, vocab=64, sequence=32, batch=16, seed=3)
mesh = jax.make_mesh((2, 4), ("data", "fsdp"))
step = build(mesh, **SMALL, compute="float32", packed=True, microbatches=2)
state, batch = step.example(1)[0]
before = jax.device_get(batch)
places = {name: leaf.sharding for name, leaf in batch.items()}


def on_devices(values):
    return {name: jax.device_put(value, places[name]) for name, value in values.items()}


@jax.jit
def logits(batch):
    with step.place.context():
        return step.model.logits(state.params, batch["tokens"], None, Packing.of(batch))


packed = np.asarray(logits(batch))
changed = {name: value.copy() for name, value in before.items()}
first = changed["segment_ids"] == 1
changed["tokens"][first] = (changed["tokens"][first] + 1) % 64
other = np.asarray(logits(on_devices(changed)))
rest = ~first & (before["segment_ids"] != 0)

documents = [before["tokens"][0][before["segment_ids"][0] == n] for n in range(1, before["segment_ids"][0].max() + 1)]
alone = [pack([text], 32) for text in documents] + [pack([], 32)] * (16 - len(documents))
apart = np.asarray(logits(on_devices({name: np.stack([row[name] for row in alone]) for name in alone[0]})))
start, distance, scale = 0, 0.0, float(np.abs(packed[0]).max())
for number, text in enumerate(documents):
    distance = max(distance, float(np.abs(packed[0, start : start + len(text)] - apart[number, : len(text)]).max()))
    start += len(text)

loss, _ = jax.jit(step.loss_and_grads)(state, batch)
total, count = jax.jit(step.loss_terms)(state, batch)["cross_entropy"]
print(
    json.dumps(
        {
            "documents": len(documents),
            "leak": float(np.abs(packed - other)[rest].max()),
            "reached": float(np.abs(packed - other)[first].max()),
            "apart": distance / scale,
            "loss": float(loss),
            "terms": float(total / count),
            "count": float(count),
            "counted": float(before["loss_mask"].sum()),
        }
    )
)
