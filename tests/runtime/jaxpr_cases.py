"""Programs whose jaxpr facts are known; run as a script, it prints them as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from contract_lint.runtime.frames import FramePaths
from contract_lint.runtime.jaxpr import collect

X = jax.ShapeDtypeStruct((4, 8), jnp.float32)
W = jax.ShapeDtypeStruct((8, 8), jnp.float32)
HELD = np.ones((8, 8), np.float32)


def unrolled(x: Any, weights: Any) -> Any:
    for w in weights:
        x = jnp.tanh(x @ w) + 1.0
    return x.sum()


@jax.jit
def layer(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w) + 1.0


def called(x: Any, weights: Any) -> Any:
    for w in weights:
        x = layer(x, w)
    return x


def side_by_side(x: Any, weights: Any) -> Any:
    return [jnp.tanh(x @ w) for w in weights]


def accumulated(x: Any, weights: Any) -> Any:
    """Microbatches added up by a Python loop."""
    total = jnp.zeros((4, 8))
    for w in weights:
        total = total + jnp.tanh(x @ w)
    return total


def update(parameters: Any, grads: Any) -> Any:
    return [p - 0.1 * g / (jnp.sqrt(g * g) + 1e-8) for p, g in zip(parameters, grads, strict=True)]


def nested(x: Any) -> Any:
    def inner(x: Any) -> Any:
        return x @ x

    for _ in range(40):
        inner = jax.jit(lambda x, f=inner: f(f(x)))
    return inner(x)


def in_while(x: Any, n: Any) -> Any:
    return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] @ HELD), (0, x))  # at: while


def in_cond(x: Any, flag: Any) -> Any:
    return jax.lax.cond(flag, lambda x: x @ HELD, lambda x: x, x)  # at: cond


def main() -> None:
    scalar = jax.ShapeDtypeStruct((), jnp.int32)
    cases = {
        "unrolled": (unrolled, (X, [W] * 4)),
        "gradient": (jax.grad(unrolled, argnums=1), (X, [W] * 6)),
        "called": (called, (X, [W] * 5)),
        "side_by_side": (side_by_side, (X, [W] * 4)),
        "accumulated": (accumulated, (X, [W] * 4)),
        "update": (update, ([W] * 8, [W] * 8)),
        "nested": (nested, (W,)),
        "in_while": (in_while, (X, scalar)),
        "in_cond": (in_cond, (X, jax.ShapeDtypeStruct((), jnp.bool_))),
        "long": (unrolled, (X, [W] * 1000)),
        "symbolic": (jnp.sin, (jax.ShapeDtypeStruct(jax.export.symbolic_shape("n, 8"), jnp.float32),)),
    }
    paths = FramePaths(Path(__file__).parent)
    found: dict[str, Any] = {}
    for name, (function, args) in cases.items():
        traced = jax.jit(function).trace(*args)
        start = time.perf_counter()
        found[name] = collect(traced.jaxpr, paths).model_dump() | {"took": time.perf_counter() - start}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    import jax.export

    main()
