"""Compiles `proof-1b` for 256 CPU devices under three plans; prints bytes of arguments and of reused arguments."""

import json

import jax
from contract_lint.runtime.trainer import build

PLANS = {
    "fsdp": ({"data": 1, "fsdp": 256}, {}),
    "zero-1": ({"data": 256}, {"optimizer_axes": "data"}),
    "tp": ({"data": 32, "tp": 8}, {}),
}
result = {}
for name, (axes, arguments) in PLANS.items():
    step = build(jax.make_mesh(tuple(axes.values()), tuple(axes)), preset="proof-1b", **arguments)
    stats = jax.jit(step.fn, donate_argnames=step.donate).lower(*step.args).compile().memory_analysis()
    result[name] = {"arguments": stats.argument_size_in_bytes, "reused": stats.alias_size_in_bytes}
print(json.dumps(result))
