"""Runs of the reference trainer, as JSON lines on standard input: {folder, until, save, most}. Each takes up the newest
step of its folder, goes on until so many steps are finished, and saves behind those of `save`; `most` are bytes that a
file may have (0: any number). A line for each says what it saw, to the bit, or why it stopped."""

import hashlib
import json
import os
import resource
import signal
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from contract_lint.runtime.trainer import build
from contract_lint.runtime.trainer.resumable import TrainerRun
from jax.sharding import Mesh

SMALL = {"layers": 1, "d_model": 16, "d_ff": 32, "heads": 2, "kv_heads": 1, "vocab": 32, "sequence": 16, "warmup": 4}


def digest(tree: object) -> str:
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(jax.device_get(tree)):
        found.update(np.asarray(leaf).tobytes())
    return found.hexdigest()


def go(run: TrainerRun, until: int, save: list[int], most: int) -> dict:
    done = run.restore()
    said = {"restored": done, "state": digest(run.state()), "seen": {}, "saved": []}
    while done < until:
        seen = run.advance()
        done += 1
        said["seen"][done] = digest(seen), digest(run.state())
        if done in save:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most or HARD, HARD))
            try:
                run.save()
                run.wait()
                said["saved"].append(done)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (HARD, HARD))
    return said


HARD = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
step = build(Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "fsdp")), "tiny", **SMALL)
for line in sys.stdin:
    asked = json.loads(line)
    try:
        said = go(TrainerRun(step, asked["folder"]), asked["until"], asked["save"], asked.get("most", 0))
    except Exception as error:  # whatever Orbax raises: the run has stopped, and says so
        said = {"stopped": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(said), flush=True)
