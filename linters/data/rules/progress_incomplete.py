"""A progress record leaves out what its cursor is a place in.

## What it does
Looks for the twelve fields: step, tokens, sources, cursor, dataset, tokenizer, mixture, seed, sampler, batch, shards
and prefetch. null counts as missing; a mixture of one source is `{"web": 1}`.

## Why is this bad?
What was not written down cannot be compared when the run is resumed: a cursor restores, the data does not.

## Example
```json
{"next_index": 20}
```

## Use instead
```json
{"step": 5, "tokens": 40960,
 "sources": {"web": {"records": 20, "tokens": 40960, "epoch": 0}},
 "cursor": {"next_index": 20}, "dataset": "sha256:...", "tokenizer": "sha256:...",
 "mixture": {"web": 1}, "seed": 3, "sampler": "shuffle",
 "batch": 4, "shards": 1, "prefetch": 2}
```

## References
- https://github.com/huggingface/datasets/issues/5454
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.progress import PROGRESS_FIELDS
from ...rule import Rule
from ..evidence import DataEvidence


def check(evidence: DataEvidence) -> Iterable[Finding]:
    for record in evidence.records:
        if record.missing:
            several = len(record.missing) > 1
            yield evidence.finding(
                RULE,
                record,
                record.missing[0],
                f"{len(record.missing)} of {len(PROGRESS_FIELDS)} fields of the progress record "
                f"{'are' if several else 'is'} missing: {', '.join(record.missing)}",
                subject="record",
                expected=", ".join(PROGRESS_FIELDS),
                found=", ".join(name for name in PROGRESS_FIELDS if name not in record.missing) or "none",
                evidence=tuple(f"{name}: {PROGRESS_FIELDS[name]}" for name in record.missing),
                help="write them beside the cursor; contract_lint.data_position makes the record of a grain iterator",
            )


RULE = Rule(
    code="DAT714",
    name="progress-incomplete",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
