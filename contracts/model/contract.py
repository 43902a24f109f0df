"""The contract: every section a team can write down."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .architecture import DtypesSection, Model, OptimizerSection
from .base import Section
from .program import CollectivesSection, Deviation, GraphSection, MemorySection
from .sharding import AccumulationSection, BatchSection, MeshSection, ParametersSection, TargetSection
from .step import StepSection


class Contract(Section):
    """A training step's promise."""

    contract: Literal[1] = Field(description="Schema version.")
    name: str = Field(min_length=1)
    extends: list[str] = Field(default_factory=list)
    config: dict[str, str] = Field(default_factory=dict, description="Alias -> the project's own YAML file.")
    step: dict[str, StepSection] = Field(min_length=1)
    targets: list[TargetSection] = Field(default_factory=list)
    mesh: MeshSection | None = None
    model: Model | None = None
    dtypes: DtypesSection | None = None
    accumulation: AccumulationSection | None = None
    batch: BatchSection | None = None
    optimizer: OptimizerSection | None = None
    parameters: ParametersSection | None = None
    collectives: CollectivesSection | None = None
    memory: MemorySection | None = None
    graph: GraphSection | None = None
    deviations: list[Deviation] = Field(default_factory=list)

    def mesh_for(self, target: str) -> MeshSection | None:
        """The mesh of one target: its own where it gives one, else the contract's."""
        for entry in self.targets:
            if entry.target == target and entry.mesh is not None:
                return entry.mesh
        return self.mesh

    def as_json(self) -> dict[str, Any]:
        """The contract as plain data, sizes in bytes."""
        return self.model_dump(mode="json", exclude_none=True)
