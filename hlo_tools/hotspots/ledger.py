"""All hot spots of one program."""

from __future__ import annotations

from ..cost import cost
from ..cost.traffic import Traffic
from ..flow import Flow
from ..loops import executions
from ..module import HloModule
from .hotspot import HotSpots
from .norm import norms
from .rows import embedding_gradients, gathered_products
from .softmax import softmaxes


def hot_spots(module: HloModule) -> HotSpots:
    """Where a fused kernel would save traffic, the largest saving first. Raises ContractLintError for what cannot be
    read."""
    flow, runs, traffic = Flow(module), executions(module), Traffic()
    found = [
        spot
        for pattern in (softmaxes, norms, gathered_products, embedding_gradients)
        for spot in pattern(module, flow, runs, traffic)
    ]
    found.sort(key=lambda spot: -spot.saved_bytes)
    return HotSpots(module.name, found, cost(module).hbm_bytes, module.is_scheduled, runs.unknown_loops)
