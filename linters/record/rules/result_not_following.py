"""A metric or a verdict in a record is not what its file says.

## What it does
Works out again, from the files that the record binds: every metric of every file that one names as its source, and the
verdict of every report. Each must stand in the record as it follows, and nothing may be left out.

## Why is this bad?
A loss that was edited, in a record that got a new name for its new bytes, looks as good as a true one: only the file
that the number comes from tells them apart.

## Example
```json
{"metrics": {"loss": {"count": 1, "last": 0.01, "source": "metrics.jsonl"}}}
```
where `metrics.jsonl` holds `{"loss": 2.31}`

## Use instead
```sh
contract-lint record create small.contract.yaml --metrics metrics.jsonl --report verdict.json
```

## References
- https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ....contracts.finding import Finding
from ....contracts.record import Metric, Part, Record, VerdictState
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    if evidence.record is None or evidence.recomputed is None:
        return
    pairs = [
        *_metrics(evidence.record, evidence.recomputed.metrics),
        *_verdicts(evidence.record, evidence.recomputed.verdicts),
    ]
    for what, source, written, follows in pairs:
        if written != follows:
            yield evidence.finding(
                RULE,
                f"{what} is not what {source} says",
                subject=f"{what} {source}",
                location=evidence.place(source),
                expected=follows or "none",
                found=written or "none",
                help="make a new record from the file: this one was put together by something else",
            )


_Pair = tuple[str, str, str | None, str | None]


def _metrics(record: Record, now: Mapping[str, Mapping[str, Metric] | None]) -> Iterator[_Pair]:
    for source, metrics in sorted(now.items()):
        written = {name: metric for name, metric in record.metrics.items() if metric.source == source}
        follow = metrics or {}
        for name in sorted({*written, *follow}):
            yield f"the metric {name}", source, *_told(written.get(name), follow.get(name))


def _verdicts(record: Record, now: Mapping[str, VerdictState | None]) -> Iterator[_Pair]:
    for source, follows in sorted(now.items()):
        for written in [each for each in record.verdicts if each.source == source]:
            yield "the verdict", source, *_told(written, follows)


def _told(written: Part | None, follows: Part | None) -> tuple[str | None, str | None]:
    """The fields of both that differ, None for what is not there: `last 0.01, p50 0.01`."""
    fields = dict.fromkeys(name for each in (written, follows) if each is not None for name in type(each).model_fields)
    del fields["source"]  # both are of that file
    names = [name for name in fields if getattr(written, name, None) != getattr(follows, name, None)]
    said, now = (each and ", ".join(f"{name} {getattr(each, name)}" for name in names) for each in (written, follows))
    return said, now


RULE = Rule(
    code="EXP612",
    name="result-not-following",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
