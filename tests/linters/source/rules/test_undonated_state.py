"""In folders of examples a step counts where the code shows a model that is no toy."""

from __future__ import annotations

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.rules.undonated_state import RULE, WIDE
from contract_lint.linters.source.text import plain_source

STEP = """
import haiku as hk
import jax
import optax
from absl import flags

def network(x):
    return hk.nets.MLP([{width}, 10])(x)

flags.DEFINE_integer("{flag}", {value}, "")
BATCH_SIZE = 4096

def make(tx, loss, steps={steps}):
    @jax.jit
    def step(params, opt_state, batch):
        updates, opt_state = tx.update(jax.grad(loss)(params, batch), opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    return step
"""


@pytest.mark.parametrize(
    ("path", "width", "flag", "value", "found"),
    [
        ("pkg/examples/a.py", 128, "seed", 0, 0),
        ("pkg/ogb_examples/deep/a.py", 128, "train_steps", 100_000, 0),
        ("tutorials/a.py", WIDE, "seed", 0, 1),
        ("examples/a.py", 8, "hidden_size", WIDE, 1),
        ("pkg/a.py", 8, "seed", 0, 1),
    ],
)
def test_an_example_needs_a_width(path: str, width: int, flag: str, value: int, found: int) -> None:
    source = STEP.format(width=width, flag=flag, value=value, steps=10_000)
    assert len(check_sources([plain_source(path, source)], selected=[RULE])) == found
