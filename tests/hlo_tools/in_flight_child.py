"""Compiles two programs for eight TPU v5e chips and prints their texts as JSON: a gather that a large product can hide,
and a sum that the next product waits for."""

from __future__ import annotations

import json
import os
import sys

os.environ |= {
    "JAX_PLATFORMS": "cpu",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_LOG_DIR": "disabled",
}

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

N = 4096


def hidden(x, w, v):
    """The gather of `v` needs nothing of the first product."""
    return (x @ w) @ lax.all_gather(v, "data", tiled=True)


def waited(x, w, v):
    """The second product reads the sum of the first."""
    return lax.psum(x @ w, "data") @ v


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    devices = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4").devices
    mesh = Mesh(np.array(devices), ("data",))
    found = {}
    for function, last in ((hidden, P("data")), (waited, P())):
        step = jax.jit(
            jax.shard_map(function, mesh=mesh, in_specs=(P("data"), P(), last), out_specs=P("data"), check_vma=False)
        )
        specs = (P("data"), P(), last)
        shapes = ((8 * N, N), (N, N), (N, N))
        arguments = [
            jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=NamedSharding(mesh, spec))
            for shape, spec in zip(shapes, specs, strict=True)
        ]
        found[function.__name__] = step.lower(*arguments).compile().as_text()
    out.write(json.dumps(found))
    out.flush()


if __name__ == "__main__":
    sys.exit(main())
