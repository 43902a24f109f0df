"""A gradient summed over more axes than its parameter is split over stays one all-reduce.

With the batch over `data` and `fsdp` and parameters over `fsdp` alone (hybrid sharding), the literature
reduce-scatters over `fsdp` and all-reduces the slices over `data`. The partitioner sums over both axes at once,
because the batch is one dimension, and slices the result over `fsdp`: each slice is still wanted by several devices
of the group, so no reduce-scatter over that group can replace it. More bytes than the two-step form: 2 S (n-1)/n with
n = data * fsdp, against S (f-1)/f + 2 S/f (d-1)/d.
"""

from __future__ import annotations

from ..layout import Layout, Weight


def stays_all_reduce(weight: Weight, layout: Layout) -> bool:
    """Whether the gradient's sum runs over axes that the parameter is not split over."""
    return set(weight.embed) != set(layout.batch_axes)
