"""Trains a two-layer decoder on the synthetic language, on a data x fsdp mesh."""

import json

import jax
from contract_lint.runtime.trainer import build
from contract_lint.runtime.trainer.train import train

step = build(
    jax.make_mesh((1, 2), ("data", "fsdp")),
    d_model=64, layers=2, heads=2, kv_heads=1, d_ff=128, vocab=32, sequence=32, batch=32, learning_rate=0.01, warmup=20,
)  # fmt: skip
compiles = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **kw: compiles.append(kw.get("fun_name")) if "backend_compile" in event else None
)
# One step at a time: many in flight can wait for each other's devices, where threads are few, until the test times out.
run = train(step, 100, lambda _, metrics: metrics["loss"].block_until_ready())
print(json.dumps({
    "first": float(run.losses[0]), "excess": run.excess, "blind": step.language.blind,
    "compiles": sum("train_step" in str(name) for name in compiles), "steps": int(run.state.step),
}))  # fmt: skip
