"""What the rules on a captured step are given: contract, capture, plans and ledgers, each made once and on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from ..contracts.load import LoadedContract
from ..contracts.manifest import Frame, MeshFact, RunFacts, StepFacts
from ..contracts.model import Contract, MeshSection, StepSection
from ..contracts.plan.collectives import CollectivePlan, plan_collectives
from ..contracts.plan.tensors import TensorPlan, plan_tensors
from ..contracts.semantics import SemanticsFacts
from ..hlo_tools.canonical import Explanation, canonical, explain
from ..hlo_tools.capture import Capture, StepCapture
from ..hlo_tools.collectives import CollectiveLedger, collectives
from ..hlo_tools.memory import MemoryLedger, memory
from ..hlo_tools.tensors import TensorLedger, tensors
from .semantics.diagnosis import Diagnosis


@dataclass
class StepEvidence:
    """One step on one target. Ledgers are properties, so a rule that needs none pays for none."""

    loaded: LoadedContract
    capture: Capture
    step: StepCapture
    run_requested: bool = False
    semantics_requested: bool = False

    @property
    def contract(self) -> Contract:
        if self.loaded.contract is None:
            raise ContractLintError("the contract has errors; a capture cannot be judged against it")
        return self.loaded.contract

    @property
    def target(self) -> str:
        return self.capture.manifest.provenance.target

    @property
    def name(self) -> str:
        return self.step.facts.step

    @property
    def facts(self) -> StepFacts:
        return self.step.facts

    @property
    def run(self) -> RunFacts | None:
        """Facts of the executed loop, only where this verdict asks for them."""
        return self.step.run if self.run_requested else None

    @property
    def semantics(self) -> SemanticsFacts | None:
        """What a probe found of the step's meaning, only where this verdict asks for it."""
        return self.step.semantics if self.semantics_requested else None

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        """The probe beside the promised objective; None where either is missing."""
        objective = self.contract.objective
        return None if self.semantics is None or objective is None else Diagnosis(self.semantics, objective)

    @property
    def section(self) -> StepSection | None:
        return self.contract.step.get(self.name)

    @property
    def mesh(self) -> MeshFact | None:
        return self.step.mesh

    @property
    def mesh_section(self) -> MeshSection | None:
        return self.contract.mesh_for(self.target)

    def place(self, key: str) -> Location:
        """Where a key of the contract stands."""
        return self.loaded.place(key)

    @property
    def step_key(self) -> str:
        return f"step.{self.name}"

    @cached_property
    def tensors(self) -> TensorLedger:
        return tensors(self.facts)

    @cached_property
    def partitioned(self) -> CollectiveLedger | None:
        """The canonical collectives of the partitioned module: what was asked for."""
        module = self.step.partitioned
        return None if module is None else canonical(module, self.mesh)

    @cached_property
    def optimized(self) -> CollectiveLedger | None:
        """The collectives of the optimised module: what runs."""
        module = self.step.optimized
        return None if module is None else collectives(module, self.mesh)

    @cached_property
    def explanation(self) -> Explanation | None:
        """How what runs follows from what was asked for, by named rewrites."""
        if self.partitioned is None or self.optimized is None:
            return None
        return explain(self.partitioned, self.optimized)

    @cached_property
    def memory(self) -> MemoryLedger | None:
        """Memory of one device by the buffer assignment, else by XLA's own sums; None where there is neither."""
        proto = self.step.proto
        if self.facts.memory is None and (proto is None or proto.assignment is None):
            return None
        return memory(proto, self.step.optimized if proto is None else None, self.facts)

    @cached_property
    def tensor_plan(self) -> TensorPlan | ContractLintError:
        """The planned tensors, or why there is no plan."""
        try:
            return plan_tensors(self.contract, self.target)
        except ContractLintError as error:
            return error

    @cached_property
    def collective_plan(self) -> CollectivePlan | ContractLintError:
        """The planned collectives, or why there is no plan."""
        try:
            return plan_collectives(self.contract, self.target, self.capture.manifest.provenance.jax)
        except ContractLintError as error:
            return error


def frame_location(frames: list[Frame]) -> Location | None:
    """The innermost user frame as a place, or None where the program gives none."""
    if not frames:
        return None
    frame = frames[0]
    return Location(frame.path, frame.line, frame.column)
