"""What steps declare on several meshes, and one executed ZeRO-1 step beside plain data parallel."""

import json

import jax
import numpy as np
from contract_lint.runtime.trainer import build

SMALL = dict(d_model=32, layers=2, heads=4, kv_heads=2, d_ff=64, vocab=64, sequence=16, batch=16, compute="float32")


def mesh(**axes):
    return jax.make_mesh(tuple(axes.values()), tuple(axes))


def leaves(tree):
    return {
        jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in jax.tree.leaves_with_path(tree)
    }


def spec(leaf):
    padded = tuple(leaf.sharding.spec) + (None,) * (leaf.ndim - len(leaf.sharding.spec))
    return [list(e) if isinstance(e, tuple) else [e] if e else [] for e in padded]


def stepped(step):
    compiled = jax.jit(step.fn, donate_argnames=step.donate).lower(*step.args).compile()
    args, kwargs = step.example(0)
    state, metrics = compiled(*args, **kwargs)
    held = sum(
        leaf.sharding.shard_shape(leaf.shape)
        and leaf.dtype.itemsize * int(np.prod(leaf.sharding.shard_shape(leaf.shape)))
        if leaf.ndim
        else leaf.dtype.itemsize
        for leaf in jax.tree.leaves(step.args)
    )
    stats = compiled.memory_analysis()
    return state, {
        "argument_bytes": stats.argument_size_in_bytes,
        "held": held,
        "alias": stats.alias_size_in_bytes,
        "loss": float(metrics["loss"]),
        "grad_norm": float(metrics["grad_norm"]),
    }


product = build(mesh(data=2, fsdp=2, tp=2), **SMALL)
zero = build(mesh(data=4, tp=2), **SMALL, optimizer_axes="data")
named = build(mesh(x=8), **SMALL, logical_axes={"embed": "x"}, batch_axes="x")
plain = build(mesh(data=4, tp=2), **SMALL)
zero_state, zero_facts = stepped(zero)
plain_state, plain_facts = stepped(plain)
apart = max(
    float(abs(np.asarray(a) - np.asarray(b)).max())
    for a, b in zip(jax.tree.leaves(zero_state.params), jax.tree.leaves(plain_state.params), strict=True)
)
refused = {}
for name, arguments in {
    "axis": dict(batch_axes="nope"),
    "logical": dict(logical_axes={"heads_": "data"}),
    "setting": dict(layer=3),
}.items():
    try:
        build(mesh(data=8), **arguments)
    except ValueError as error:
        refused[name] = str(error)
print(
    json.dumps(
        {
            "product": {
                path: [list(leaf.shape), str(leaf.dtype), spec(leaf)] for path, leaf in leaves(product.args[0]).items()
            },
            "batch": {
                path: [list(leaf.shape), str(leaf.dtype), spec(leaf)] for path, leaf in leaves(product.args[1]).items()
            },
            "zero": {path: spec(leaf) for path, leaf in leaves(zero.args[0]).items()},
            "named": {path: spec(leaf) for path, leaf in leaves(named.args[0]).items()},
            "same_placement": jax.tree.leaves(
                jax.tree.map(lambda a, b: a.sharding.is_equivalent_to(b.sharding, a.ndim), zero_state, zero.args[0])
            ),
            "zero_facts": zero_facts,
            "plain_facts": plain_facts,
            "apart": apart,
            "refused": refused,
        }
    )
)
