"""The contract: every section a team can write down."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .architecture import DtypesSection, Model
from .base import Section
from .checkpoint import CheckpointSection
from .data import DataSection
from .measured import EvalSection, MetricSection, TrainingSection
from .objective import ObjectiveSection
from .optimizer import OptimizerSection
from .program import CollectivesSection, Deviation, GraphSection, MemorySection
from .randomness import RngSection
from .sharding import AccumulationSection, BatchSection, MeshSection, ParametersSection, TargetSection
from .step import StepSection


class Contract(Section):
    """A training step's promise."""

    contract: Literal[1] = Field(description="Schema version.")
    name: str = Field(min_length=1, description="Name of the contract in reports.")
    extends: list[str] = Field(
        default_factory=list,
        description="Contracts this one is laid over, relative to this file; later keys win, lists replace.",
    )
    config: dict[str, str] = Field(
        default_factory=dict, description="Alias -> the project's own YAML file, relative to this file."
    )
    step: dict[str, StepSection] = Field(min_length=1, description="Steps by name, such as train and eval.")
    targets: list[TargetSection] = Field(
        default_factory=list, description="What the step is compiled for; `verify` runs all."
    )
    mesh: MeshSection | None = Field(default=None, description="The logical device mesh.")
    model: Model | None = Field(default=None, description="What the closed-form plan is derived from.")
    dtypes: DtypesSection | None = Field(default=None, description="Dtypes by role.")
    accumulation: AccumulationSection | None = Field(default=None, description="Gradient accumulation.")
    batch: BatchSection | None = Field(default=None, description="The global batch of one step and its placement.")
    data: DataSection | None = Field(default=None, description="What the fields of a batch mean.")
    objective: ObjectiveSection | None = Field(default=None, description="The terms of the loss.")
    optimizer: OptimizerSection | None = Field(
        default=None, description="The optimizer's slots, their placement, and its transformations in order."
    )
    training: TrainingSection | None = Field(default=None, description="The length of the run.")
    rng: RngSection | None = Field(default=None, description="Random numbers, and how often they are drawn anew.")
    metrics: dict[str, MetricSection] | None = Field(default=None, description="What the step reports, by name.")
    eval: EvalSection | None = Field(default=None, description="How the model is judged between steps.")
    parameters: ParametersSection | None = Field(default=None, description="How parameters are placed.")
    collectives: CollectivesSection | None = Field(default=None, description="The communication of one step.")
    memory: MemorySection | None = Field(default=None, description="Device memory of one step, per device.")
    graph: GraphSection | None = Field(default=None, description="What the traced and compiled graph may hold.")
    checkpoint: CheckpointSection | None = Field(default=None, description="What is saved, and when it counts.")
    deviations: list[Deviation] = Field(
        default_factory=list, description="Findings that are accepted, with their reasons."
    )

    @property
    def microbatches(self) -> int:
        """How many of them a step adds up; one without the section `accumulation`."""
        return self.accumulation.microbatches if self.accumulation is not None else 1

    def mesh_for(self, target: str) -> MeshSection | None:
        """The mesh of one target: its own where it gives one, else the contract's."""
        for entry in self.targets:
            if entry.target == target and entry.mesh is not None:
                return entry.mesh
        return self.mesh

    def as_json(self) -> dict[str, Any]:
        """The contract as plain data, sizes in bytes."""
        return self.model_dump(mode="json", exclude_none=True)
