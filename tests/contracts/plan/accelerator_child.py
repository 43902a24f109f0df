"""Compiles one step of the reference trainer for a target without a device: accelerator_child.py REQUEST FOLDER.

Request: {"target", "effort", "axes": {name: size}, "dcn": {name: parts}, "build": {...}}. Leaves `partitioned.txt`,
`optimized.txt` and `mesh.json` in the folder.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from contract_lint.runtime.targets import target


def main(request: dict[str, Any], folder: Path) -> None:
    chosen = target(request["target"], request["effort"])
    chosen.require()
    os.environ |= chosen.environment()
    import jax
    from contract_lint.runtime.dumps import read_dumps
    from contract_lint.runtime.trainer import build

    chosen.configure()
    jax.config.update("jax_enable_compilation_cache", False)
    axes = request["axes"]
    mesh = jax.sharding.Mesh(chosen.arranged(axes, request["dcn"]), tuple(axes))
    step = build(mesh, **request["build"])
    dump = folder / "dump"
    lowered = jax.jit(step.fn, donate_argnums=0).trace(*step.args).lower()
    compiled = lowered.compile(compiler_options=chosen.compiler_options(dump))
    (folder / "partitioned.txt").write_text(read_dumps(dump, chosen).partitioned)
    (folder / "optimized.txt").write_text(compiled.as_text())
    mesh_fact = {"axes": axes, "dcn": request["dcn"], "device_ids": [int(d.id) for d in mesh.devices.flat]}
    (folder / "mesh.json").write_text(json.dumps(mesh_fact))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
