"""The step of train.py with its training loop: how it saves, and how it takes a run up again.

`contract-lint checkpoint resume resume.contract.yaml` stops this loop where it hurts and looks whether it goes on.
"""

from pathlib import Path

import jax
import orbax.checkpoint as ocp
import train


class Run:
    """A run whose steps are kept in a folder. The batch of a step follows from its number alone."""

    def __init__(self, step, folder):
        self.fn = jax.jit(step.fn, donate_argnums=0)
        self.example = step.example
        self.done = 0
        self.arrays = step.example(0)[0][0]
        self.manager = ocp.CheckpointManager(Path(folder), options=ocp.CheckpointManagerOptions(max_to_keep=2))

    def restore(self):
        newest = self.manager.latest_step()
        if newest is not None:
            like = jax.tree.map(ocp.utils.to_shape_dtype_struct, self.arrays)
            kept = self.manager.restore(
                newest, args=ocp.args.Composite(state=ocp.args.StandardRestore(like), data=ocp.args.JsonRestore())
            )
            self.arrays, self.done = kept["state"], kept["data"]["next_batch"]
        return self.done

    def advance(self):
        batch = self.example(self.done)[0][1]
        self.arrays, metrics = self.fn(self.arrays, batch)
        self.done += 1
        return {**metrics, "batch": batch}

    def save(self):
        data = {"next_batch": self.done}
        self.manager.save(
            self.done, args=ocp.args.Composite(state=ocp.args.StandardSave(self.arrays), data=ocp.args.JsonSave(data))
        )

    def wait(self):
        self.manager.wait_until_finished()

    def state(self):
        return self.arrays

    def arguments(self):
        return (self.arrays, self.example(self.done)[0][1]), {}


def build(mesh, **config):
    step = train.build(mesh, **config)
    step.resumable = lambda folder: Run(step, folder)
    return step
