"""Captures of one small step, written by hand: what it needs, what the compiler said, and what it asked for."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from contract_lint.contracts.load import LoadedContract, load_contract
from contract_lint.hlo_tools.capture import Capture, read_capture

GIB = 1 << 30
TPU, CUDA, CPU = "tpu:v5e:2x4", "cuda:h100:1x8", "cpu:8"
EARLY = (
    "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (20.35G) exceeds "
    "available HBM (15.75G)."
)
REFUSED = {"kind": "out-of-memory", "type": "JaxRuntimeError", "message": EARLY, "phase": "compile"}
"""The error of a step that the compiler refused for its size, before it had a buffer assignment."""
PARTITIONED = """\
HloModule m, num_partitions=2

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[8] parameter(0)
  ROOT r = f32[8] all-reduce(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add
}
"""


def capture(
    folder: Path,
    target: str,
    need: int,
    effort: str = "fast",
    error: dict[str, Any] | None = None,
    standing: int = 0,
    partitioned: str | None = None,
) -> Capture:
    """A capture of one step that needs so many bytes, `standing` of them arguments and the rest temporaries; with an
    error it was not compiled. `partitioned`: the module after partitioning, over an axis `data` of two devices."""
    sums = {"argument_bytes": standing, "output_bytes": 0, "alias_bytes": 0, "temp_bytes": need - standing}
    sums["code_bytes"] = 0
    facts = {"step": "train", "entry": "m:build", "jaxpr": {"equations": 1}, "memory": sums, "error": error}
    if error is not None:
        facts["memory"] = None
    files = {"train/facts.json": json.dumps(facts).encode(), "train/stderr.txt": b""}
    if error is None:
        hlo = "HloModule m\n\nENTRY main () -> f32[] {\n  ROOT %c = f32[] constant(0)\n}\n"
        files["train/optimized.hlo.txt.gz"] = gzip.compress(hlo.encode())
    if partitioned is not None:
        files["train/partitioned.hlo.txt.gz"] = gzip.compress(partitioned.encode())
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    provenance = {"tool": "0", "python": "3", "contract_digest": "d", "target": target, "effort": effort}
    manifest = {
        "schema_version": 1,
        "provenance": provenance,
        "devices": 8,
        "device_kind": target.partition(":")[0],
        "mesh": {"axes": {"data": 2}, "device_ids": [0, 1]} if partitioned is not None else None,
        "steps": ["train"],
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return read_capture(folder)


def contract(folder: Path, target: str, hbm: str | None = None, more: str = "") -> LoadedContract:
    """A contract on that step; `more` are further lines of it."""
    text = f'contract: 1\nname: x\nstep: {{ train: {{ entry: "m:build" }} }}\ntargets: ["{target}"]\n{more}'
    if hbm is not None:
        text += f"memory: {{ hbm: {hbm} }}\n"
    (folder / "x.contract.yaml").write_text(text)
    return load_contract(folder / "x.contract.yaml", folder)
