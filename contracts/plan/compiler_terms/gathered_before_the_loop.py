"""From jax 0.12 on, a weight that the loop over microbatches reads as it is stored is gathered once, before the loop.

jax lowers the body of that loop into the loop itself, where 0.10 and 0.11 lowered it to a function of its own. The
sharding propagation then sees that a value which the loop only reads is wanted whole, and makes it whole where it
enters the loop. A weight that is cast first (a master weight in float32 used in bfloat16) is cast in the loop, and a
layer's weights are slices of a stack: both are gathered where they are used, in every microbatch.
"""

from __future__ import annotations

from ..layout import Layout, Weight

SINCE = (0, 12)


def gathered_once(weight: Weight, layout: Layout) -> bool:
    """Whether one gather serves every microbatch. Without a version of jax (no program yet): no."""
    read_as_stored = layout.use_dtype(weight) == layout.dtypes.master
    return layout.jax >= SINCE and read_as_stored and not weight.parameter.per_layer
