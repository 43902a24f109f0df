"""Compiles the steps of the examples for eight simulated CPU devices, one request a line, until its input ends.

Request: {"example": name, "axes": {name: size}, "build": {...}}. Answer: {"partitioned": text, "optimized": text} or
{"error": text}. One process for many compiles, because importing jax costs as much as a small one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import traceback
from math import prod
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.pop("XLA_FLAGS", None)

import jax
import numpy as np

jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_compilation_cache", False)

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
# Machine code is not looked at: no LLVM optimisation and no compiled fusions leave the HLO passes up to there alone.
FAST: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}
if jax.__version__.startswith("0.10."):  # later versions do not know it
    FAST["xla_cpu_use_fusion_emitters"] = False


def builder(example: str) -> Any:
    path = EXAMPLES / example / "train.py"
    if not path.exists():
        from contract_lint.runtime.trainer import build

        return build
    spec = importlib.util.spec_from_file_location(f"{example}_train", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build


def answer(request: dict[str, Any]) -> dict[str, Any]:
    axes = request["axes"]
    devices = np.array(jax.devices()[: prod(axes.values())]).reshape(tuple(axes.values()))
    step = builder(request["example"])(jax.sharding.Mesh(devices, tuple(axes)), **request["build"])
    with tempfile.TemporaryDirectory() as dump:
        options = {"xla_dump_to": dump, "xla_dump_hlo_as_text": True, "xla_dump_hlo_pass_re": "spmd-partition.*"}
        compiled = jax.jit(step.fn, donate_argnums=0).trace(*step.args).lower().compile(compiler_options=options | FAST)
        (dumped,) = Path(dump).glob("*.spmd-partitioner.after_spmd-partitioning*.txt")
        return {"partitioned": dumped.read_text(), "optimized": compiled.as_text()}


def main() -> None:
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Whatever the compiler prints must not mix with answers.
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception:
            reply = {"error": traceback.format_exc()}
        out.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
