"""Loss and gradients of every plan against one device in float64."""

import json

import jax
import numpy as np
from contract_lint.runtime.trainer import build

SMALL = dict(d_model=32, layers=2, heads=4, kv_heads=2, d_ff=64, vocab=64, sequence=16, batch=16, seed=3)
PLANS = {
    "data x fsdp": ({"data": 2, "fsdp": 4}, {"microbatches": 2}),
    "data x fsdp x tp": ({"data": 2, "fsdp": 2, "tp": 2}, {"microbatches": 4}),
}


def values(axes, **overrides):
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), devices=jax.devices()[: int(np.prod(list(axes.values())))])
    step = build(mesh, **SMALL, **overrides)
    args, _ = step.example(1)
    loss, grads = jax.jit(step.loss_and_grads)(*args)
    leaves = {"/".join(k.key for k in path): np.asarray(g, np.float64) for path, g in jax.tree.leaves_with_path(grads)}
    return float(loss), leaves, step, args


def distance(a, b):
    return float(np.linalg.norm(a - b))


loss_64, exact, step, args = values({"data": 1}, compute="float64", microbatches=1)
terms = jax.jit(step.loss_terms)(*args)["cross_entropy"]
masks = np.asarray(args[1]["loss_mask"])
counts = [float(masks[n::2].sum()) for n in range(2)]
loss_one, one, _, _ = values({"data": 1}, compute="float32", microbatches=1)
result = {"terms": float(terms[0] / terms[1]), "loss_64": loss_64, "counts": counts, "plans": {}}
for name, (axes, overrides) in PLANS.items():
    loss, grads, _, _ = values(axes, compute="float32", **overrides)
    unit = float(np.finfo(np.float32).eps)
    ratios = {
        path: distance(grads[path], exact[path])
        / (4 * distance(one[path], exact[path]) + unit * float(np.linalg.norm(exact[path])))
        for path in exact
    }
    result["plans"][name] = {"loss": loss, "worst": max(ratios.values())}
wrong = {path: g * counts[0] / np.mean(counts) for path, g in one.items()}
result["wrong_normaliser"] = min(
    distance(wrong[p], exact[p]) / (4 * distance(one[p], exact[p]) + 1.2e-7 * float(np.linalg.norm(exact[p])))
    for p in exact
)
print(json.dumps(result))
