"""Compiles steps of the reference trainer for simulated CPU devices, one request a line, until its input ends.

Request: {"axes": {name: size}, "build": {...}}. Answer: {"partitioned": path, "optimized": path, "argument_bytes": n}
or {"error": text}. One process for many compiles, because importing jax costs as much as a small one.
"""

from __future__ import annotations

import json
import os
import shutil
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

from contract_lint.runtime.trainer import build  # noqa: E402

# Machine code is not looked at: no LLVM optimisation and no compiled fusions leave the HLO passes up to there alone.
FAST: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}
if jax.__version__.startswith("0.10."):  # later versions do not know it
    FAST["xla_cpu_use_fusion_emitters"] = False


def answer(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    axes = request["axes"]
    jax.config.update("jax_enable_x64", request["build"].get("compute") == "float64")
    devices = np.array(jax.devices()[: prod(axes.values())]).reshape(tuple(axes.values()))
    step = build(jax.sharding.Mesh(devices, tuple(axes)), **request["build"])
    dump = Path(tempfile.mkdtemp(dir=folder))
    options = {
        "xla_dump_to": str(dump),
        "xla_dump_hlo_as_text": True,
        "xla_dump_hlo_pass_re": "spmd-partition.*",
    }
    compiled = jax.jit(step.fn, donate_argnums=0).trace(*step.args).lower().compile(compiler_options=options | FAST)
    (dumped,) = dump.glob("*.spmd-partitioner.after_spmd-partitioning*.txt")
    partitioned = Path(tempfile.mkstemp(suffix=".txt", dir=folder)[1])
    partitioned.write_bytes(dumped.read_bytes())
    shutil.rmtree(dump)
    optimized = Path(tempfile.mkstemp(suffix=".txt", dir=folder)[1])
    optimized.write_text(compiled.as_text())
    return {
        "partitioned": str(partitioned),
        "optimized": str(optimized),
        "argument_bytes": compiled.memory_analysis().argument_size_in_bytes,
    }


def main(folder: Path) -> None:
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Whatever the compiler prints must not mix with answers.
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), folder)
        except Exception:
            reply = {"error": traceback.format_exc()}
        out.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
