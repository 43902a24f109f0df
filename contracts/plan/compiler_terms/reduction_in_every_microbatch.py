"""Gradients are summed over the batch axes in every microbatch, and in every layer, not once a step.

Accumulating local gradients and summing once (Li et al. 2006.15704, section 3.2.4, `no_sync`) needs a loop carry that
is not yet summed over the batch axes. The carry of a compiled loop over microbatches has the placement of the
parameters, so the partitioner sums each microbatch's gradient before adding it. Some backends move the all-reduce out
of the loop afterwards (TPU does, CPU does not): that is a named rewrite of the optimised program.
"""

from __future__ import annotations

from ..layout import Layout, Weight
from ..quantity import Quantity


def reductions(weight: Weight, layout: Layout) -> Quantity:
    """How often one step sums the gradient of one use of this parameter over the batch axes."""
    return layout.uses(weight, forward=False)
