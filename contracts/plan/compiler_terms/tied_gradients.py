"""A tied embedding table has two gradients, each summed over the batch before they are added.

The table is gathered once for the lookup and the head. Its gradient is the sum of the lookup's (rows scattered by
token) and the head's (a matrix product); the partitioner sums each over the batch axes as soon as it is made. The
lookup's gradient, and the head's (whose logits are in the master dtype), are summed in the master dtype.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..layout import Layout, Weight


def gradients_of(weight: Weight, layout: Layout) -> Iterator[tuple[str, str]]:
    """Each gradient of a parameter that is summed on its own: (name of the use, dtype of the sum)."""
    if weight.path == "embed/table":
        yield "the token lookup", layout.dtypes.master
        if layout.model.tied:
            yield "the output head", layout.dtypes.master
    else:
        yield "a weight", layout.grad_dtype(weight)
