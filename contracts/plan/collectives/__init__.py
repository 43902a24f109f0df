"""Every collective of a step in closed form, from the contract alone.

A plan is the sum of its terms, because the terms touch different axes: gathers and reductions over `embed` axes
(FSDP), sums over batch axes (data parallel), gathers of updated parameters (ZeRO-1), sums of activations over
`heads`, `mlp` and `vocab` axes (tensor parallel). Products of plans on one mesh are the same sum, with every size
divided by the other axes.
"""

from __future__ import annotations

from ...model import Contract
from ..layout import layout_of
from .allowed import Allowance, without_allowed
from .data_parallel import gradient_reductions
from .fsdp import weight_gathers
from .rows import CollectivePlan, PlannedCollective, PlannedTotal, joined
from .tensor_parallel import activation_reductions
from .vocab_parallel import vocabulary_reductions
from .zero1 import parameter_gathers

__all__ = ["Allowance", "CollectivePlan", "PlannedCollective", "PlannedTotal", "plan_collectives", "without_allowed"]


def plan_collectives(contract: Contract, target: str, jax: str | None = None) -> CollectivePlan:
    """The collectives of one step on one target: what the partitioned program must hold, to the element.

    `jax` is the version that lowers the step, where one is known (`0.12.0`): a few terms depend on it.
    Scalars of the metrics (loss, token count, gradient norm) are not planned; the contract allows them
    (`collectives.allow`). Raises PlanError, with the key at fault, where no closed form follows; an empty plan means
    that no collective is needed.
    """
    layout = layout_of(contract, target, jax)
    return joined(
        weight_gathers(layout),
        activation_reductions(layout),
        vocabulary_reductions(layout),
        gradient_reductions(layout),
        parameter_gathers(layout),
    )
