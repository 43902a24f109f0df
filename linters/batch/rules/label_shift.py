"""Targets are not the next tokens: shifted twice, not at all, or by something else.

## What it does
Compares the counted targets inside each document with the tokens 0, 1, 2 and 3 places on. `data.shift: batch` (or no
word of it) promises the next token, `model` the same token, which the model then shifts.

## Why is this bad?
A model that shifts targets which the loader has shifted learns to predict the token after the next. The loss still
falls, to a higher floor.

## Example
```python
batch = {"tokens": text[:, :-2], "targets": text[:, 2:]}
```

## Use instead
```python
batch = {"tokens": text[:, :-1], "targets": text[:, 1:]}
```

## What stays clean
Objectives whose targets follow no shift (masked tokens, classes), unless `shift` is promised; targets that the loss
does not count; the last token of a document; without a promise, the tokens themselves with -100 among them or as the
`labels` of `input_ids`, which the models that read these shift.

## References
- https://github.com/huggingface/transformers/issues/32944
- https://github.com/huggingface/transformers/issues/47394
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....contracts.finding import Finding
from ...rule import Rule
from ..batch import Batch
from ..evidence import BatchEvidence, at, first

if TYPE_CHECKING:
    import numpy


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    batch = evidence.batch
    tokens, targets = batch.get("tokens"), batch.get("targets")
    if tokens is None or targets is None or batch.tokens_hold_targets:
        return
    promised = {"batch": 1, "model": 0, None: None}[evidence.data.shift]
    wanted = 1 if promised is None else promised
    by_shift = _Shift(evidence, wanted)
    if not by_shift.differ:
        return
    others = (_Shift(evidence, by) for by in range(_FARTHEST + 1) if by != wanted)
    other = next((each for each in others if each.compared >= _ENOUGH and not each.differ), None)
    if promised is None and (other is None or (other.by == 0 and _model_may_shift(batch))):
        return
    found = None if other is None else other.by
    said = (
        f"all {other.compared:,} counted targets are {_TOKEN[other.by]}"
        if other is not None
        else f"{by_shift.differ:,} of {by_shift.compared:,} counted targets are not {_TOKEN[wanted]} (first: "
        f"{at(first(by_shift.wrong))})"
    )
    yield evidence.finding(
        RULE,
        f"{said}, {'promised is' if promised is not None else 'and a language model learns'} {_TOKEN[wanted]}",
        subject=batch.name("targets"),
        key="data.shift" if promised is not None else None,
        confidence="certain" if promised is not None else "likely",
        expected=f"targets[t] == tokens[t + {wanted}]" if wanted else "targets[t] == tokens[t]",
        found=f"targets[t] == tokens[t + {found}]" if found else "targets[t] == tokens[t]" if found == 0 else None,
        help="shift once: in the loader, or in the model",
        details={
            "found": found,
            "wanted": wanted,
            "equal": by_shift.compared - by_shift.differ,
            "compared": by_shift.compared,
        },
    )


def _model_may_shift(batch: Batch) -> bool:
    """The usual layout of models that shift by themselves: targets that are the tokens, but for an id below 0."""
    return batch.uncounted is not None or (batch.name("tokens"), batch.name("targets")) == ("input_ids", "labels")


_FARTHEST = 3
_TOKEN = ("the same token", "the next token", "the token after the next", "the third token on")
# So many targets must agree before a shift that nobody promised is believed.
_ENOUGH = 8


def _compared(evidence: BatchEvidence, by: int) -> numpy.ndarray:
    """[rows, columns - by]: targets that count and whose token `by` places on is in the same document."""
    import numpy

    batch = evidence.batch
    rows, columns = batch.shape or (0, 0)
    kept = max(columns - by, 0)
    where = numpy.ones((rows, kept), bool)
    if batch.counted is not None:
        where &= batch.counted[:, :kept] != 0
    if batch.segments is not None:
        here, there = batch.segments[:, :kept], batch.segments[:, by : by + kept]
        where &= (here == there) & (here != 0)
    return where


class _Shift:
    """How the targets agree with the tokens `by` places on: how many were `compared`, where they are `wrong`."""

    def __init__(self, evidence: BatchEvidence, by: int) -> None:
        tokens, targets = evidence.batch.get("tokens"), evidence.batch.get("targets")
        where = _compared(evidence, by)
        self.by = by
        self.compared = int(where.sum())
        kept = where.shape[1]
        differ = False if tokens is None or targets is None else targets[:, :kept] != tokens[:, by : by + kept]
        self.wrong = where & differ
        self.differ = int(self.wrong.sum())


RULE = Rule(
    code="DAT606",
    name="label-shift",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
