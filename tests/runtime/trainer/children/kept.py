"""A run that is saved in the background, taken up, restored onto another mesh, and refused where it is another run."""

import json
import tempfile
from pathlib import Path

import jax
import numpy as np
from contract_lint.contracts.model.checkpoint import ObservationsSection
from contract_lint.runtime.trainer import build
from contract_lint.runtime.trainer.checkpoint import Checkpoints, Refused
from contract_lint.runtime.trainer.feed import Feed
from contract_lint.runtime.trainer.observe import Observer
from contract_lint.runtime.trainer.train import train
from jax.sharding import Mesh

SMALL = {"layers": 1, "d_model": 16, "d_ff": 32, "heads": 2, "kv_heads": 1, "vocab": 32, "sequence": 16, "warmup": 4}
SECTION = ObservationsSection.model_validate({"statistics": {"every": 2, "of": ["params", "grads"]}, "batches": {}})


def made(data: int, fsdp: int, **changes: object):
    mesh = Mesh(np.array(jax.devices()).reshape(data, fsdp), ("data", "fsdp"))
    return build(mesh, "tiny", **(SMALL | {"packed": True} | changes))


def host(tree: object) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]


def refused(**changes: object) -> str:
    step = made(2, 4, **changes)
    try:
        Checkpoints(step, run).restore(Feed(step))
    except Refused as error:
        return str(error)
    return "taken up"


folder = Path(tempfile.mkdtemp())
run, unbroken = folder / "run", folder / "unbroken"
step = made(2, 4)
train(step, 2, checkpoints=Checkpoints(step, run, {"model": "sha256:0"}), observer=Observer(step, run, SECTION))
taken_up = train(step, 4, checkpoints=Checkpoints(step, run), observer=Observer(step, run, SECTION))
whole = train(step, 4, observer=Observer(step, unbroken, SECTION))

other = made(4, 2)
moved = Checkpoints(other, run).restore(Feed(other))
assert moved is not None
placed = jax.tree.map(lambda leaf, wanted: leaf.sharding == wanted.sharding, moved[0], other.args[0])

seen = {}
for place in (run, unbroken):
    files = sorted((place / "observations").iterdir())
    seen[place.name] = {file.name: file.read_bytes().hex() for file in files if file.suffix != ".json"}

print(
    json.dumps(
        {
            "folder": str(run),
            "first": taken_up.first,
            "losses": np.array_equal(taken_up.losses, whole.losses[2:]),
            "state": host(taken_up.state) == host(whole.state),
            "moved": host(moved[0]) == host(whole.state) and moved[1] == 4 and all(jax.tree.leaves(placed)),
            "observed": seen["run"] == seen["unbroken"],
            "files": list(seen["run"]),
            "refused": [refused(seed=1), refused(warmup=5), refused(batch=32), refused(packed=False)],
        }
    )
)
