"""The contract's sections as pydantic models: names, types, units and ranges; no cross-field rules."""

from .architecture import DenseModel, DtypesSection, ListedModel
from .base import format_bytes, parse_bytes
from .checkpoint import CheckpointSection, LeafSection
from .contract import Contract
from .data import AttentionSection, DataSection, PackingSection
from .data_fields import COUNTING, ROLE_NAMES, Role
from .measured import EvalSection, MetricSection, TrainingSection
from .objective import Normaliser, ObjectiveSection, TermSection
from .optimizer import OptimizerSection, ScheduleSection
from .program import AllowedCollective, CollectivesSection, Deviation, ExpectedCollective, GraphSection, MemorySection
from .randomness import RngSection
from .sharding import (
    AccumulationSection,
    BatchSection,
    MeshSection,
    ParameterRule,
    ParametersSection,
    TargetSection,
    as_axes,
)
from .step import StepSection

__all__ = [
    "COUNTING",
    "ROLE_NAMES",
    "AccumulationSection",
    "AllowedCollective",
    "AttentionSection",
    "BatchSection",
    "CheckpointSection",
    "CollectivesSection",
    "Contract",
    "DataSection",
    "DenseModel",
    "Deviation",
    "DtypesSection",
    "EvalSection",
    "ExpectedCollective",
    "GraphSection",
    "LeafSection",
    "ListedModel",
    "MemorySection",
    "MeshSection",
    "MetricSection",
    "Normaliser",
    "ObjectiveSection",
    "OptimizerSection",
    "PackingSection",
    "ParameterRule",
    "ParametersSection",
    "RngSection",
    "Role",
    "ScheduleSection",
    "StepSection",
    "TargetSection",
    "TermSection",
    "TrainingSection",
    "as_axes",
    "format_bytes",
    "parse_bytes",
]
