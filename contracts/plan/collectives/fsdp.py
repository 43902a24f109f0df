"""Fully sharded parameters (FSDP, ZeRO-3): every use of a parameter gathers it over the axes of its `embed` dimension.

    all-gather:  uses(w) times  size(w);   uses = microbatches * layers, twice that with `remat: full` (the repeated
    forward pass needs the weights again), microbatches for what is not in a layer

Source: ZeRO 1910.02054, section 5.3 (P_os+g+p: one gather for the forward and one for the backward pass). The second
gather of a weight is the repeated forward pass here: without remat the gathered weight is kept and not gathered
again.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..compiler_terms.gathered_before_the_loop import gathered_once
from ..layout import Layout
from ..quantity import ONE
from .rows import PlannedCollective, row


def weight_gathers(layout: Layout) -> Iterator[PlannedCollective]:
    """One row for each parameter whose `embed` dimension is split."""
    for weight in layout.weights:
        if not weight.embed:
            continue
        once = gathered_once(weight, layout)
        again = weight.parameter.per_layer and layout.model.remat == "full"
        yield row(
            "all-gather",
            weight.embed,
            ONE if once else layout.uses(weight, forward=True),
            weight.size,
            dtype=layout.use_dtype(weight),
            term="gather of a weight for the forward pass"
            + (" and its repetition in the backward pass" if again else "")
            + (", before the loop over microbatches" if once else ""),
            source="ZeRO 1910.02054, 5.3",
            key="parameters.logical_axes.embed",
            what=weight.path,
        )
