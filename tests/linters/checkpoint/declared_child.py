"""Steps of several items that Orbax saves, each changed in one thing, and what Orbax does with it: no code of ours."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint._src.handlers.composite_checkpoint_handler import CompositeOptions

OUT = Path(sys.argv[1]).resolve()
TREE = {"w": jnp.arange(6.0), "b": jnp.ones(3)}
SAVE = {
    "state": ocp.args.StandardSave(TREE),
    "tree": ocp.args.PyTreeSave(TREE),
    "mean": ocp.args.ArraySave(jnp.ones(3)),
    "data": ocp.args.JsonSave({"next": 1}),
    "jax": ocp.args.JaxRandomKeySave(jax.random.key(0)),
    "numpy": ocp.args.NumpyRandomKeySave(np.random.RandomState(0).get_state()),
    "inner": ocp.args.Composite(first=ocp.args.StandardSave(TREE), about=ocp.args.JsonSave({"a": 1})),
}
RESTORE = {
    "state": ocp.args.StandardRestore(),
    "tree": ocp.args.PyTreeRestore(),
    "mean": ocp.args.ArrayRestore(),
    "data": ocp.args.JsonRestore(),
    "jax": ocp.args.JaxRandomKeyRestore(),
    "numpy": ocp.args.NumpyRandomKeyRestore(),
    "inner": ocp.args.Composite(first=ocp.args.StandardRestore(), about=ocp.args.JsonRestore()),
}


def manager(folder: Path) -> ocp.CheckpointManager:
    composite = CompositeOptions(async_options=ocp.options.AsyncOptions(create_directories_asynchronously=False))
    inner = {"first": ocp.StandardCheckpointHandler(), "about": ocp.JsonCheckpointHandler()}
    handlers = {
        "state": ocp.StandardCheckpointHandler(),
        "tree": ocp.PyTreeCheckpointHandler(use_ocdbt=False),
        "mean": ocp.ArrayCheckpointHandler(),
        "data": ocp.JsonCheckpointHandler(),
        "jax": ocp.JaxRandomKeyCheckpointHandler(),
        "numpy": ocp.NumpyRandomKeyCheckpointHandler(),
        "inner": ocp.CompositeCheckpointHandler(**inner, composite_options=composite),
    }
    return ocp.CheckpointManager(folder, item_handlers=handlers, item_names=tuple(handlers))


def swap(step: Path, one: str, other: str) -> None:
    (step / one).rename(step / "aside")
    (step / other).rename(step / one)
    (step / "aside").rename(step / other)


def put(step: Path, one: str, other: str) -> None:
    shutil.rmtree(step / one)
    shutil.copytree(step / other, step / one)


def drop(step: Path, *names: str) -> None:
    for name in names:
        path = step / name
        (shutil.rmtree if path.is_dir() else Path.unlink)(path)


CHANGES: dict[str, Callable[[Path], None]] = {"nothing": lambda step: None}
for one, other in itertools.combinations(SAVE, 2):
    CHANGES[f"{one} and {other} are swapped"] = lambda step, one=one, other=other: swap(step, one, other)
for one, other in itertools.permutations(SAVE, 2):
    # Either handler of trees restores what the other saved; and a random key is two items, as an item of items may be.
    if {one, other} != {"state", "tree"} and (one != "inner" or other not in ("jax", "numpy")):
        CHANGES[f"{one} is what {other} is"] = lambda step, one=one, other=other: put(step, one, other)
CHANGES["processes are not merged"] = lambda step: drop(step / "state", "_METADATA", "manifest.ocdbt", "d")
CHANGES["an array has lost what describes it"] = lambda step: drop(step / "mean", "_METADATA", "checkpoint/.zarray")
CHANGES["an array has lost its tree"] = lambda step: drop(step / "mean", "_METADATA")

with manager(OUT / "run") as made:
    for number in (1, 2):
        made.save(number, args=ocp.args.Composite(**SAVE))
restored: dict[str, bool] = {}
for name, change in CHANGES.items():
    (OUT / "changed").mkdir()
    shutil.copytree(OUT / "run/2", OUT / "changed/2")
    change(OUT / "changed/2")
    shutil.copytree(OUT / "changed", OUT / "kept" / name)
    try:
        with manager(OUT / "changed") as there:
            there.restore(2, args=ocp.args.Composite(**RESTORE))
        restored[name] = True
    except Exception:
        restored[name] = False
    shutil.rmtree(OUT / "changed")

# What the folder of steps is: which step Orbax takes, and whether it restores one of which nothing is told.
taken: dict[str, int | None] = {}
for name, change in {
    "unmarked": lambda run: drop(run / "2", "commit_success.txt"),
    "empty": lambda run: (run / "3").mkdir(),
    "temporary": lambda run: (run / "2").rename(run / "2.orbax-checkpoint-tmp"),
}.items():
    shutil.copytree(OUT / "run", OUT / "steps" / name)
    change(OUT / "steps" / name)
    with ocp.CheckpointManager(OUT / "steps" / name, options=ocp.CheckpointManagerOptions(read_only=True)) as there:
        taken[name] = there.latest_step()
untold: list[bool] = []
for name in ("whole", "lost"):
    with ocp.CheckpointManager(OUT / "untold" / name) as made:
        made.save(1, args=ocp.args.Composite(state=SAVE["state"], data=SAVE["data"]))
    if name == "lost":
        drop(OUT / "untold/lost/1", "_CHECKPOINT_METADATA")
    for arguments in (None, ocp.args.Composite(state=RESTORE["state"], data=RESTORE["data"])):
        try:
            with ocp.CheckpointManager(OUT / "untold" / name) as there:
                there.restore(1, args=arguments)
            untold.append(True)
        except ValueError:
            untold.append(False)
(OUT / "found.json").write_text(json.dumps({"restored": restored, "taken": taken, "untold": untold}))
