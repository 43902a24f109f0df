"""One input-gradient sum for each column-parallel matrix, not one for each block.

Megatron's operator f sums the input gradient of a block once, because the block's column-parallel matrices read the
same input. The partitioner places an all-reduce behind each partial product, before the products are added up: three
for queries, keys and values, two for a gated feed-forward block. Some backends merge them afterwards (TPU and CUDA
do, CPU does not): that is a named rewrite of the optimised program, not part of this plan.
"""

from __future__ import annotations

from ..layout import Layout


def column_matrices(name: str, layout: Layout) -> tuple[str, ...]:
    """The column-parallel matrices of the block whose inner dimension is `heads` or `mlp`, in the order of the
    model."""
    return tuple(w.path for w in layout.weights if w.parameter.axes == ("layer", "embed", name))
