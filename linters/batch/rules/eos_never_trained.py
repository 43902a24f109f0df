"""The ends of documents are targets, and the loss does not count them.

## What it does
Finds targets that are the end-of-document id of a real document and whose loss mask is 0. With
`data.counted.eos: true` each is a finding; without that promise they are one where padding has the same id, for then
they have been taken for padding.

## Why is this bad?
A model that never sees an end never ends. It is the usual effect of a tokenizer without a padding id that is given its
end id for it, and of a mask made by value (`targets != pad_id`).

## Example
```python
mask = targets != tokenizer.eos_token_id  # padding and the ends of documents alike
```

## Use instead
```python
mask = jnp.arange(sequence) < lengths[:, None]
```

## References
- https://github.com/huggingface/transformers/issues/23530
- https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/4660
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import BatchEvidence, at, first, rows_of


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    import numpy

    batch = evidence.batch
    targets, counted, segments, eos = batch.get("targets"), batch.counted, batch.segments, batch.eos_id
    if targets is None or counted is None or segments is None or eos is None:
        return
    promised = evidence.data.counted.eos
    if promised is False or (promised is None and batch.pad_id != eos):
        return
    # A target is real where the token it stands for is text: the next column of the same document.
    real = numpy.zeros(targets.shape, bool)
    if batch.targets_shifted_by == "model":
        real = segments != 0
    else:
        real[:, :-1] = (segments[:, 1:] != 0) & (segments[:, 1:] == segments[:, :-1])
    tokens = batch.get("tokens")
    if batch.uncounted is not None and tokens is not None:
        # What is not counted has lost its id: the token that it stands for tells.
        stood_for = tokens if batch.targets_shifted_by == "model" else numpy.roll(tokens, -1, axis=1)
        targets = numpy.where(counted == 0, stood_for, targets)
    ends = (targets == eos) & real
    lost = ends & (counted == 0)
    if not lost.any() or (promised is None and not lost[ends].all()):
        return
    cause = f": padding has the same id {eos}" if batch.pad_id == eos else ""
    yield evidence.finding(
        RULE,
        f"{int(lost.sum()):,} of {int(ends.sum()):,} ends of documents among the targets do not count in the loss "
        f"(first: {at(first(lost))}){cause}",
        subject=batch.counted_by,
        key="data.counted.eos" if promised else None,
        confidence="certain" if batch.segments_are_certain else "likely",
        expected=f"{1 if batch.uncounted is None else eos} at the end of every document",
        found=batch.not_counted("there"),
        evidence=(*rows_of(lost), *evidence.inferred),
        help="make the mask from lengths or segment ids, not from the value of the target",
        details={"ends": int(ends.sum()), "lost": int(lost.sum()), "first": list(first(lost))},
    )


RULE = Rule(
    code="DAT607",
    name="eos-never-trained",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
