"""A document's losses depend on another document of its row.

## What it does
With `batch check --probe`: changes one token of a document at a time and looks at the loss of every target of its row.
Outside the document none may move, by however little, unless `data.attention.scope` is `row`. Padding is no document:
what stands there moves nothing.

## Why is this bad?
Attention runs over the borders of documents: the model learns from text that has nothing to do with what it predicts.
Positions that begin anew in every document do not prevent it, the mask of the attention has to.

## Example
```python
mask = jnp.tril(jnp.ones((s, s), bool))  # causal, over the whole row
```

## Use instead
```python
mask = jnp.tril(jnp.ones((s, s), bool)) & (segment_ids[:, :, None] == segment_ids[:, None, :])
```

## References
- https://github.com/huggingface/nanoVLM/pull/204
- https://github.com/allenai/open-instruct/pull/669
- https://github.com/NVIDIA/Megatron-LM/issues/415
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.probe import Moved, MovedLosses
from ...rule import Rule
from ..evidence import BatchEvidence


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    batch, probe = evidence.batch, evidence.probe
    segments = batch.segments
    if probe is None or segments is None or evidence.data.attention.scope == "row":
        return
    leaks: list[tuple[Moved, MovedLosses]] = []
    for moved in probe.moved:
        own = batch.span_at(moved.row, moved.column)
        inside = range(own.start, own.stop) if own is not None else range(0)
        outside = moved.among(c for c, segment in enumerate(segments[moved.row]) if segment and c not in inside)
        if outside is not None:
            leaks.append((moved, outside))
    if not leaks:
        return
    moved, (column, count, largest) = leaks[0]
    name = batch.name("segment_ids")
    ids = batch.get("segment_ids")
    numbers = segments if ids is None else ids
    of = f"document {numbers[moved.row, moved.column]}" if segments[moved.row, moved.column] else "the padding"
    yield evidence.finding(
        RULE,
        f"row {moved.row}: another token in {of} (column {moved.column}) moves the loss of {count:,} "
        f"target{'s' * (count != 1)} of other documents (first: column {column}, document "
        f"{numbers[moved.row, column]}; largest change {largest:.4g}, must be 0)",
        subject="segments",
        key="data.attention.scope",
        expected="0",
        found=f"{largest:.4g}",
        evidence=(
            f"losses read from {probe.how} of step {probe.step}",
            f"{len(leaks)} of {len(probe.moved)} changes leak",
            f"{name} is {'dead' if name in probe.dead else 'read'} in the step",
        ),
        help="let a query see only keys of its own segment: the mask of the attention needs the segment ids",
        details={"row": moved.row, "column": moved.column, "moved": column, "count": count, "largest": largest},
    )


RULE = Rule(
    code="DAT621",
    name="segment-leak",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
