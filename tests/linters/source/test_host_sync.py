"""The examples of host-sync-in-loop are run: how often the host reads an array, with three and with six rounds."""

from __future__ import annotations

import subprocess
import sys

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.rules.host_sync_in_loop import BAD, RULE
from contract_lint.linters.source.text import plain_source

CHILD = """
import os, sys
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp
from jax._src import array

reads = []
value = array.ArrayImpl._value
array.ArrayImpl._value = property(lambda self: (reads.append(1), value.fget(self))[1])
item = array.ArrayImpl.item
array.ArrayImpl.item = lambda self, *args: (reads.append(1), item(self, *args))[1]


def counted(source, run):
    module = {}
    exec(source, module)
    reads.clear()
    exec(run, module)
    return len(reads)


for source, run in eval(sys.stdin.read()):
    few, many = (counted(source, run.format(rounds=n)) for n in (3, 6))
    print("reads", few, many)
"""


def counts(cases: list[tuple[str, str]]) -> list[tuple[int, int]]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=repr(cases), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("reads ")]
    return [(int(few), int(many)) for _, few, many in lines]


WAITS_ONCE = """
import jax
import jax.numpy as jnp

@jax.jit
def train_step(params, batch):
    return params - 0.01 * batch, jnp.sum(batch)

def train(params, batches):
    for step, batch in enumerate(batches):
        params, loss = train_step(params, batch)
        if step % 100 == 0:
            print(float(loss))
    return params, float(loss)
"""


@pytest.mark.slow
def test_reads_of_bad_examples_grow_with_the_rounds_and_those_of_good_ones_do_not() -> None:
    numbers = next(each for each in BAD if each.name == "numbers of every step")
    caller = next(each for each in BAD if each.name == "the loop stands in the caller")
    assert check_sources([plain_source("good.py", WAITS_ONCE)], None, [RULE]) == []
    of_step, of_caller, of_good = counts(
        [
            (numbers.source, "fit(jnp.ones(2), [jnp.ones((2, 2))] * {rounds})"),
            (caller.source, "train(jnp.ones(2), [jnp.ones(2)] * {rounds})"),
            (WAITS_ONCE, "train(jnp.ones(2), [jnp.ones(2)] * {rounds})"),
        ]
    )
    assert of_step == (3, 6)
    assert of_caller == (3, 6)
    assert of_good == (2, 2)
