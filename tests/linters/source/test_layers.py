"""What layers of libraries give, and what is asked of it: found where it is an array, else left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.apis import layer_gives
from contract_lint.linters.source.text import plain_source

IMPORTS = """
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
"""


def found(code: str) -> list[tuple[str, str]]:
    """The code and confidence of each finding."""
    findings = check_sources([plain_source("example.py", IMPORTS + dedent(code))])
    return [(each.code, each.confidence) for each in findings]


def test_what_layers_give() -> None:
    assert layer_gives("flax.linen.Dense.__call__") == layer_gives("equinox.nn.Linear.__call__") == "array"
    assert layer_gives("flax.linen.LSTMCell.__call__") == layer_gives("equinox.nn.BatchNorm.__call__") == "traced"
    nothing = ("flax.nnx.Rngs.__call__", "flax.linen.Dense", "flax.linen.relu", "torch.nn.Linear.__call__")
    assert [layer_gives(each) for each in nothing] == [None] * len(nothing)


@pytest.mark.parametrize(
    "used",
    [
        "if self.linear(x)[0] > 0: pass",
        "assert (x - 1).sum() > 0",
        "y = self.linear(x)\n        z = y if y.max() > 0 else -y",
        "while x[0].min() > 0: x = x - 1",
    ],
)
def test_branches_of_equinox_modules(used: str) -> None:
    code = f"""
    class Small(eqx.Module):
        linear: eqx.nn.Linear
        def __call__(self, x):
            {used.replace("        ", "            ")}
            return x
    """
    assert found(code) == [("JIT103", "likely")]


@pytest.mark.parametrize("used", ["np.tanh(h)", "float(h.sum())", "float(x.sum())", "h.tolist()", "x.mean().item()"])
@pytest.mark.parametrize("called", [False, True])
def test_numbers_of_what_layers_give(used: str, called: bool) -> None:
    code = f"""
    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.Dense(4)(x)
            return {used}
    """
    run = "\nmodel = Block()\nstep = jax.jit(lambda v, x: model.apply(v, x))\n"
    assert found(dedent(code) + (run if called else "")) == [("JIT113", "certain" if called else "likely")]


@pytest.mark.parametrize(
    "loss",
    [
        "out = model.apply(params, x)\n        return out if out.mean() > 3 else 0.0",
        "out = state.apply_fn({'params': params}, x)\n        return out if out.mean() > 3 else 0.0",
        "out, _ = model.apply(params, x, mutable=['stats'])\n        return out if out.mean() > 3 else 0.0",
        "out = params(x)\n        return out if out.mean() > 3 else 0.0",
    ],
)
def test_models_that_are_applied(loss: str) -> None:
    code = f"""
    @jax.jit
    def step(state, params, x):
        def loss(params):
            {loss.replace("        ", "            ")}
        return jax.value_and_grad(loss)(params)
    """
    assert found(code) == [("JIT103", "certain")]


@pytest.mark.parametrize(
    "body",
    [
        "if x: pass",
        "if x > 1: pass",
        "if x.ndim > 1 and x.shape[0] > 2: pass",
        "if x.train or x.mean: pass",
        "if 'a' in x: pass",
        "if x.get('depth') > 1: pass",
        "if x is None or not isinstance(x, jax.Array): pass",
        "float(x)",
    ],
)
def test_what_may_be_no_array(body: str) -> None:
    assert found(f"class Block(nn.Module):\n    def __call__(self, x):\n        {body}\n        return x\n") == []


def test_on_the_host() -> None:
    code = """
    def evaluate(x):
        layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
        y = layer(x)
        return np.tanh(y) if y.mean() > 0 and float(y.sum()) > 1 else 0.0
    """
    assert found(code) == []


SEVERAL = """
class Block(nn.Module):
    sizes: tuple = (2, 3)

    @nn.compact
    def __call__(self, x, train, mode: str = "mean", mask=None):
        carry, x = nn.GRUCell(3)(jnp.zeros(3), x)
        if train and mode != "sum" and len(self.sizes) > 1 and x.shape[-1] > 1:
            x = nn.Dropout(0.1, deterministic=True)(x)
        return x if mask is None or mask.ndim == 1 else jnp.where(mask.any(-1), x, 0)

class Noise(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs

    def __call__(self, x, depth):
        key = self.rngs.noise() if depth > 1 else self.rngs()
        return x + jax.random.normal(key, x.shape)

model = Block()

step = jax.jit(lambda variables, x: model.apply(variables, x, True))
"""


def test_settings_of_modules_and_layers_that_give_several() -> None:
    assert found(SEVERAL) == []
