"""With `remat: full`, the layer's last sum is not repeated.

The backward pass recomputes a layer from its input to get at the values that its derivatives need. The output of the
last row-parallel product is the layer's output; no derivative inside the layer reads it, so the repeated product and
its all-reduce are dead code, removed before partitioning. The attention's output is read (the second norm's input),
so its sum is repeated. Korthikanti et al. 2205.05198, section 5, counts a full extra forward pass.
"""

from __future__ import annotations

from ..layout import Layout
from ..quantity import ONE, Quantity

LAST_OF_LAYER = "layers/mlp/w_down"


def recomputed_outputs(row_parallel: str, layout: Layout) -> tuple[Quantity, str]:
    """How often one microbatch sums this product's output in one layer, and when, in words."""
    if layout.model.remat == "none":
        return ONE, "forward"
    if row_parallel == LAST_OF_LAYER:
        return ONE, "forward; its repetition is dead code"
    return Quantity(2, "2"), "forward and repeated forward"
