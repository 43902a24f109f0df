"""A batch holds ids outside the vocabulary, values outside their declared range, or numbers that are none.

## What it does
Checks tokens and counted targets against `data.tokenizer.vocab` (without it, that none is below 0), every field against
its `range`, and masks and weights for NaN, infinity and negative values.

## Why is this bad?
A gather clamps an id that is too large to the last row of the table: no error, wrong embedding. One NaN in a mask makes
the loss NaN; a negative weight trains away from the target.

## Example
```yaml
data: { tokenizer: { vocab: 32000 } }   # the file: tokens up to 32000
```

## Use instead
```yaml
data: { tokenizer: { vocab: 32001 } }
```

## What stays clean
Targets that the loss does not count: by its mask, or -100 and the like. Without a mask that is the least value of the
targets' declared `range`, if below 0; else the only value below 0 that they have.

## References
- https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#out-of-bounds-indexing
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....contracts.finding import Finding
from ....contracts.model import COUNTING
from ...rule import Rule
from ..evidence import BatchEvidence, at

if TYPE_CHECKING:
    import numpy


def check(evidence: BatchEvidence) -> Iterable[Finding]:
    import numpy

    yield from _ids(evidence)
    for name, entry in evidence.data.batch_fields.items():
        array = evidence.batch.arrays.get(name)
        if array is None or entry.range is None or array.dtype.kind not in "iufb" or not array.size:
            continue
        least, most = entry.range
        values = array.astype("float64") if array.dtype.kind == "b" else array
        outside = ~((values >= least) & (values <= most))
        if outside.any():
            yield _finding(
                evidence, name, array, outside, f"outside {least} to {most}", f"{evidence.data.fields_key}.{name}.range"
            )
    for role in COUNTING:
        values = evidence.batch.get(role)
        if values is None or values.dtype.kind != "f":
            continue
        broken = ~numpy.isfinite(values)
        if broken.any():
            yield _finding(evidence, evidence.batch.name(role), values, broken, "NaN or infinite", None)
        elif (values < 0).any():
            yield _finding(evidence, evidence.batch.name(role), values, values < 0, "below 0", None)


def _ids(evidence: BatchEvidence) -> Iterable[Finding]:
    tokenizer, segments = evidence.data.tokenizer, evidence.batch.segments
    for role in ("tokens", "targets"):
        values = evidence.batch.get(role)
        if values is None:
            continue
        outside = values < 0
        if tokenizer is not None:
            outside |= values >= tokenizer.vocab
        elif segments is not None:
            outside &= segments != 0
        if role == "targets" and evidence.batch.counted is not None:
            outside &= evidence.batch.counted != 0
        if outside.any():
            said = "below 0" if tokenizer is None else f"outside the vocabulary of {tokenizer.vocab:,}"
            key = None if tokenizer is None else "data.tokenizer.vocab"
            yield _finding(evidence, evidence.batch.name(role), values, outside, said, key)


def _finding(
    evidence: BatchEvidence, name: str, array: numpy.ndarray, wrong: numpy.ndarray, said: str, key: str | None
) -> Finding:
    import numpy

    flat = int(wrong.argmax())
    place = [int(index) for index in numpy.unravel_index(flat, wrong.shape)]
    value = array.reshape(-1)[flat].item()
    return evidence.finding(
        RULE,
        f"{int(wrong.sum()):,} of {wrong.size:,} values of {name} are {said} (first: {at(place)}: {value})",
        subject=f"{name}:{said}",
        key=key,
        found=str(value),
        details={"field": name, "count": int(wrong.sum()), "first": place},
    )


RULE = Rule(
    code="DAT603",
    name="batch-value-out-of-range",
    severity="error",
    evidence="batch",
    doc=__doc__ or "",
    check=check,
)
