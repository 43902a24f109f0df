"""The step of the handed case on splitting a batch into microbatches; the case's own file makes it."""

import contextlib
import io
import runpy
import sys
from types import SimpleNamespace

import jax
from jax.sharding import NamedSharding, PartitionSpec


def build(mesh, case, variant):
    before, sys.argv = sys.argv, [case, "--variant", variant]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            made = runpy.run_path(case)
    finally:
        sys.argv = before
    whole = NamedSharding(made["mesh"], PartitionSpec())
    return SimpleNamespace(fn=jax.jit(made["step"], out_shardings=whole), args=(made["w"], made["x"]))
