"""Model FLOPs in closed form: what the mathematics of one step needs, whatever the program recomputes or wastes.

    training step:  tokens * (6 N + 12 layers * heads * head_dim * sequence)
    forward only:   tokens * (2 N +  4 layers * heads * head_dim * sequence)

N counts the weights that are multiplied: an embedding table that is only looked up is left out, a tied one is counted
once, as the head. Attention is counted over the whole sequence, causal or not. A multiply-add is two operations, the
backward pass twice the forward one. Source: Chowdhery et al., PaLM, 2204.02311, appendix B (model FLOPs utilisation);
the 6 N of it: Kaplan et al. 2001.08361, section 2.1.

Rematerialising every layer computes each of them once more on the way back, all but its last product (the MLP's down
projection), whose result nothing needs there:

    recomputed:     tokens * (2 R + 4 layers * heads * head_dim * sequence)

with R the layers' weights without the down projections. Model and recomputed FLOPs together are exactly the matrix
products of the reference trainer's program, on every backend.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model import Contract, DenseModel
from .error import PlanError
from .parameters import head_dim, parameters_of
from .quantity import Quantity, product

SOURCE = "PaLM (arXiv 2204.02311), appendix B"
_LOOKED_UP = "embed/table"
_LAST = "layers/mlp/w_down"


@dataclass(frozen=True, slots=True)
class ModelFlops:
    """Tokens and model FLOPs of one step over all devices; `weights` is N; `formula` spells the FLOPs out.

    `recomputed` is what rematerialisation adds to them; it counts as no use of the hardware.
    """

    tokens: int
    weights: int
    flops: int
    formula: str
    recomputed: int = 0
    source: str = SOURCE


def model_flops(contract: Contract, training: bool = True) -> ModelFlops:
    """The model FLOPs of one step. Raises PlanError where the contract describes no dense model with its batch."""
    model, batch = contract.model, contract.batch
    if model is None or batch is None:
        raise PlanError("model" if model is None else "batch", "the section is missing")
    if not isinstance(model, DenseModel):
        raise PlanError("model.kind", "a listed model does not say what it multiplies")
    multiplied = [p for p in parameters_of(model) if len(p.axes) - p.per_layer == 2]
    tied = model.tied
    counted = [p.size for p in multiplied if tied or p.path != _LOOKED_UP]
    weights = Quantity(sum(size.value for size in counted), "N")
    width = Quantity(model.heads * head_dim(model), "heads * head_dim")
    layers, sequence = Quantity(model.layers, "layers"), Quantity(model.sequence, "sequence")
    tokens = product(Quantity(batch.size, "batch"), sequence)
    passes = 3 if training else 1
    per_weight, per_score = Quantity(2 * passes, str(2 * passes)), Quantity(4 * passes, str(4 * passes))
    total = tokens * (product(per_weight, weights) + product(per_score, layers, width, sequence))
    again = 0
    if training and model.remat == "full":
        rebuilt = sum(p.size.value for p in multiplied if p.per_layer and p.path != _LAST)
        again = tokens.value * (2 * rebuilt + product(Quantity(4, "4"), layers, width, sequence).value)
    return ModelFlops(tokens.value, weights.value, total.value, total.text, again)
