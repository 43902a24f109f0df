"""Faults of a MaxText run: a key of its configuration, or what a project puts around its step; what must be said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

WITHOUT_DONATION = """\
from dataclasses import replace

import jax

from contract_lint.runtime.adapters import maxtext


def build(mesh, **args):
    step = maxtext.build(mesh, **args)
    return replace(step, fn=jax.jit(step.fn.__wrapped__), donate=(), carry={0: "state"})
"""


@dataclass(frozen=True)
class MaxTextFault:
    """`overrides` go to MaxText; `source` is a module `wrapped` whose `build` stands for the adapter's.

    `keys`: the one root finding stands at a key of the contract that starts with one of these.
    """

    name: str
    code: str
    keys: tuple[str, ...]
    overrides: dict[str, Any] = field(default_factory=dict)
    source: str = ""

    def __str__(self) -> str:
        return self.name


FAULTS = (
    # A rule that takes the sharding from one logical name: every weight is whole over fsdp.
    MaxTextFault(
        "unsharded-name",
        "SHD202",
        ("parameters.logical_axes.embed",),
        {"logical_axis_rules": [["embed", []]]},
    ),
    # The axes of the mesh, with the same number of devices.
    MaxTextFault(
        "other-axis-sizes", "SHD214", ("mesh.axes",), {"ici_fsdp_parallelism": 2, "ici_tensor_parallelism": 4}
    ),
    # Moments in half the bits.
    MaxTextFault("narrow-moments", "NUM202", ("dtypes.moments",), {"mu_dtype": "bfloat16"}),
    # Products kept instead of computed again: more than the budget. (MaxText's policy `none` is another word for full.)
    MaxTextFault("saved-products", "MEM205", ("model.remat",), {"remat_policy": "minimal"}),
    # The state kept beside its successor.
    MaxTextFault("not-donated", "MEM204", ("step.train.donate",), source=WITHOUT_DONATION),
    # A topology without its number of slices: -1 of them, and a batch of -8.
    MaxTextFault("no-slice-count", "DAT203", ("batch.size",), {"compile_topology": "v5e-8"}),
    # Twice the batch that the contract promises.
    MaxTextFault("larger-batch", "DAT201", ("batch.size",), {"per_device_batch_size": 2}),
)
