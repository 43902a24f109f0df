"""A progress record leaves out what its cursor is a place in.

## What it does
Looks for the twelve fields: step, tokens, sources, cursor, dataset, tokenizer, mixture, seed, sampler, batch, shards
and prefetch; and those that `data.progress.fields` adds. null counts as missing; a mixture of one source is
`{"web": 1}`.

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

from collections.abc import Iterable, Sequence

from ....contracts.finding import Finding
from ....contracts.progress import PROGRESS_FIELDS, Progress
from ...cut import in_a_line
from ...rule import Rule
from ..evidence import DataEvidence

NAMED = 3
"""Other records that a finding names."""


def check(evidence: DataEvidence) -> Iterable[Finding]:
    progress = evidence.data.progress if evidence.data is not None else None
    own = {name: "promised by data.progress.fields" for name in (progress.fields if progress is not None else ())}
    wanted = own | dict(PROGRESS_FIELDS)
    lacking: dict[tuple[str, ...], list[Progress]] = {}
    for record in evidence.records:
        missing = [*record.missing, *(n for n in own if n not in PROGRESS_FIELDS and record.fields.get(n) is None)]
        if missing:
            lacking.setdefault(tuple(missing), []).append(record)
    for missing, records in lacking.items():
        yield evidence.finding(
            RULE,
            records[0],
            missing[0],
            f"{len(missing)} of {len(wanted)} fields of the progress record "
            f"{'are' if len(missing) > 1 else 'is'} missing: {', '.join(missing)}{_elsewhere(records)}",
            subject="record",
            expected=", ".join(wanted),
            found=", ".join(name for name in wanted if name not in missing) or "none",
            evidence=tuple(f"{name}: {wanted[name]}" for name in missing),
            help="write them beside the cursor; contract_lint.data_position makes the record of a grain iterator",
            details={"missing": list(missing), "records": len(records)},
        )


def _elsewhere(records: Sequence[Progress]) -> str:
    """Where else the same is missing."""
    places = [record.node.place for record in records]
    others = [f"line {each.line}" if each.path == places[0].path else str(each) for each in places[1:]]
    return f"; the same at {in_a_line(others, NAMED)}" if others else ""


RULE = Rule(
    code="DAT714",
    name="progress-incomplete",
    severity="error",
    evidence="data",
    doc=__doc__ or "",
    check=check,
)
