"""The tensor ledger: every array the step is called with, its placement and its bytes on one device."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from ..contracts.errors import ContractLintError
from ..contracts.manifest import MeshFact, StepFacts
from .roles import TensorClass, classify

SCHEMA_VERSION = 1
STATE_CLASSES: tuple[TensorClass, ...] = ("parameter", "optimizer_slot", "counter", "rng")
"""What stays on the device from one step to the next."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One argument. `path` is the pytree path below `argument`, or the argument's name where it is a bare array.

    `spec` has the mesh axes of each dimension, None where the program does not split along mesh axes; `bytes` is per
    device. `parameter` is the flat parameter number in the compiled program, None where the compiler dropped it.
    """

    path: str
    class_: TensorClass
    argument: str
    global_shape: tuple[int, ...]
    local_shape: tuple[int, ...] | None
    dtype: str
    mesh: dict[str, int] | None
    spec: tuple[tuple[str, ...], ...] | None
    bytes: int | None
    asked: tuple[tuple[str, ...], ...] | None = None
    donated: bool = False
    aliased: bool = False
    parameter: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "class": self.class_,
            "argument": self.argument,
            "global_shape": list(self.global_shape),
            "local_shape": None if self.local_shape is None else list(self.local_shape),
            "dtype": self.dtype,
            "mesh": self.mesh,
            "spec": None if self.spec is None else [list(axes) for axes in self.spec],
            "bytes": self.bytes,
            "donated": self.donated,
            "aliased": self.aliased,
        }


@dataclass(frozen=True, slots=True)
class TensorLedger:
    """All arguments of one step, in argument order."""

    module: str
    rows: tuple[Tensor, ...]

    def of(self, *classes: TensorClass) -> list[Tensor]:
        return [row for row in self.rows if row.class_ in classes]

    def totals(self) -> dict[str, int]:
        """Bytes per device by class, classes that occur only."""
        sums: dict[str, int] = {}
        for row in self.rows:
            sums[row.class_] = sums.get(row.class_, 0) + (row.bytes or 0)
        return sums

    @property
    def state_bytes(self) -> int:
        """Parameters, optimizer slots, counters and random keys, per device."""
        return sum(row.bytes or 0 for row in self.of(*STATE_CLASSES))

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "module": self.module,
            "tensors": [row.as_json() for row in self.rows],
            "totals": self.totals(),
        }


def tensors(facts: StepFacts, mesh: MeshFact | None = None) -> TensorLedger:
    """The ledger of a step's arguments; how they are classed is written down in `roles`.

    Raises ContractLintError where a shape and a placement of the facts have different ranks.
    """
    axes = dict(mesh.axes) if mesh is not None else None
    rows = []
    for leaf, kind in zip(facts.arguments, classify(facts), strict=True):
        if leaf.spec is not None and len(leaf.spec) > len(leaf.shape):
            name = f"{leaf.argument}/{leaf.path}"
            raise ContractLintError(f"`{name}` has {len(leaf.shape)} dimensions, its placement {len(leaf.spec)}")
        local = leaf.local_shape if leaf.local_shape is not None else _shard(leaf.shape, leaf.spec, axes)
        rows.append(
            Tensor(
                path=leaf.path or leaf.argument,
                class_=kind,
                argument=leaf.argument,
                global_shape=tuple(leaf.shape),
                local_shape=None if local is None else tuple(local),
                dtype=leaf.dtype,
                mesh=axes,
                spec=None if leaf.spec is None else tuple(tuple(part) for part in leaf.spec),
                bytes=leaf.bytes,
                asked=None if leaf.asked is None else tuple(tuple(part) for part in leaf.asked),
                donated=leaf.donated,
                aliased=leaf.aliased,
                parameter=leaf.parameter,
            )
        )
    return TensorLedger(facts.step, tuple(rows))


def _shard(shape: list[int], spec: list[list[str]] | None, axes: dict[str, int] | None) -> list[int] | None:
    """The shard of a global shape: each dimension over the product of its axes, rounded up."""
    if spec is None or axes is None:
        return None
    padded = [*spec, *([[]] * (len(shape) - len(spec)))]
    return [-(-size // prod(axes.get(axis, 1) for axis in part)) for size, part in zip(shape, padded, strict=True)]
