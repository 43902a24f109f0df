"""Tensor parallelism inside a layer: column-parallel matrices in, row-parallel matrices out, one sum of the residual
stream behind each.

    forward:   microbatches * layers times  b*s*d  behind wo, and behind w_down
    backward:  microbatches * layers times  b*s*d  for the input of every column-parallel matrix

with b the local microbatch, s the sequence and d the model width. Source: Megatron-LM 1909.08053, section 3
(operators g and f: two all-reduces forward and two backward for each layer); Korthikanti et al. 2205.05198, section
4.2.1. How many of these a compiled program holds differs from the paper in two ways, each a
compiler term of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..compiler_terms.dead_recomputation import recomputed_outputs
from ..compiler_terms.unmerged_input_gradients import column_matrices
from ..layout import Layout
from ..quantity import Quantity
from .rows import PlannedCollective, row


def activation_reductions(layout: Layout) -> Iterator[PlannedCollective]:
    """Rows for the attention and the feed-forward block, where `heads` and `mlp` are split."""
    each_layer = layout.microbatches * layout.layers
    blocks = (("heads", layout.heads, "layers/attn/wo"), ("mlp", layout.mlp, "layers/mlp/w_down"))
    for name, axes, row_parallel in blocks:
        if not axes:
            continue
        common = {"dtype": layout.dtypes.compute, "key": f"parameters.logical_axes.{name}"}
        outputs, when = recomputed_outputs(row_parallel, layout)
        yield row(
            "all-reduce",
            axes,
            each_layer * outputs,
            layout.activation,
            term=f"sum of a row-parallel product's output ({when})",
            source="Megatron-LM 1909.08053, 3 (operator g)",
            what=row_parallel,
            **common,
        )
        matrices = column_matrices(name, layout)
        yield row(
            "all-reduce",
            axes,
            each_layer * Quantity(len(matrices), str(len(matrices))),
            layout.activation,
            term="sum of the input gradient of each column-parallel product",
            source="Megatron-LM 1909.08053, 3 (operator f)",
            what=", ".join(matrices),
            **common,
        )
