"""Data parallelism: every gradient is summed over the axes that split the batch.

    gradients:  microbatches (* layers) times  size(w)

A reduce-scatter where the parameter is split over exactly those axes (FSDP: each device keeps its own slice), else an
all-reduce. The sum stands inside the loop over microbatches, because that is where the gradient of a
microbatch is made (`compiler_terms/reduction_in_every_microbatch.py`).

Source: Li et al. 2006.15704 (data parallel all-reduce); ZeRO 1910.02054, sections 5.2 and 7.2.1 (the same volume as
reduce-scatter).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..compiler_terms.partly_scattered import stays_all_reduce
from ..compiler_terms.reduction_in_every_microbatch import reductions
from ..compiler_terms.tied_gradients import gradients_of
from ..layout import Layout
from .rows import PlannedCollective, row


def gradient_reductions(layout: Layout) -> Iterator[PlannedCollective]:
    """One row for each gradient; none where no axis splits the batch."""
    if not layout.batch_axes:
        return
    for weight in layout.weights:
        scattered = bool(weight.embed) and not stays_all_reduce(weight, layout)
        for use, dtype in gradients_of(weight, layout):
            yield row(
                "reduce-scatter" if scattered else "all-reduce",
                layout.batch_axes,
                reductions(weight, layout),
                weight.size,
                dtype=dtype,
                term=f"sum of the gradient of {use} over the batch"
                + (", each device keeping its slice" if scattered else ""),
                source="ZeRO 1910.02054, 5.2" if scattered else "PyTorch Distributed 2006.15704, 3",
                key="batch.axes",
                what=weight.path,
            )
