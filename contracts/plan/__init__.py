"""The ledgers a contract predicts in closed form. Never reads a program."""

from .collectives import (
    Allowance,
    CollectivePlan,
    PlannedCollective,
    PlannedTotal,
    plan_collectives,
    without_allowed,
)
from .error import PlanError
from .tensors import PlannedTensor, TensorPlan, plan_tensors

__all__ = [
    "Allowance",
    "CollectivePlan",
    "PlanError",
    "PlannedCollective",
    "PlannedTensor",
    "PlannedTotal",
    "TensorPlan",
    "plan_collectives",
    "plan_tensors",
    "without_allowed",
]
