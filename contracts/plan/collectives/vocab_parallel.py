"""Vocabulary parallelism: an embedding table and an output head split over their vocabulary dimension.

    lookup:         microbatches times  b*s*d    each device looks up the tokens it holds, and zeros are added for the
    others cross entropy:  microbatches times  3*b*s    maximum, sum of exponentials, logit of the target head
    backward:  microbatches times  b*s*d    input gradient of the logits

Source: Megatron-LM 1909.08053, section 3 (parallel embedding; fused cross entropy communicates b*s instead of b*s*v).
Logits and losses are kept in the master dtype, so are their sums.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..layout import Layout
from .rows import PlannedCollective, row

SOURCE = "Megatron-LM 1909.08053, 3"


def vocabulary_reductions(layout: Layout) -> Iterator[PlannedCollective]:
    """Rows where `vocab` is split."""
    if not layout.vocab:
        return
    key, head = "parameters.logical_axes.vocab", "embed/table" if layout.model.tied else "lm_head/kernel"
    terms = (
        ("lookup of tokens in a table split by vocabulary", "embed/table", layout.activation, layout.dtypes.compute),
        ("maximum of the logits", head, layout.local_batch * layout.sequence, layout.dtypes.master),
        ("sum of the exponentials of the logits", head, layout.local_batch * layout.sequence, layout.dtypes.master),
        ("logit of the target", head, layout.local_batch * layout.sequence, layout.dtypes.master),
        ("sum of the input gradient of the logits", head, layout.activation, layout.dtypes.master),
    )
    for term, what, size, dtype in terms:
        yield row(
            "all-reduce",
            layout.vocab,
            layout.microbatches,
            size,
            dtype=dtype,
            term=term,
            source=SOURCE,
            key=key,
            what=what,
        )
