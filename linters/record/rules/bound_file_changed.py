"""A file that a record binds is gone, is not what it was, or has a new one beside it.

## What it does
Looks for every file that the record names, below the folder that the record is about, and compares size and sha256.
In the folder of a checkpoint there may be no other file: its root is the digest of all of them.

## Why is this bad?
The numbers in the record are those of the other file: a configuration that was edited since, metrics that a later run
wrote over, a checkpoint whose shards were swapped.

## Example
```sh
contract-lint record create small.contract.yaml --metrics metrics.jsonl
echo '{"loss": 0.1}' >> metrics.jsonl
contract-lint record verify latest
```

## Use instead
```sh
contract-lint record create small.contract.yaml --metrics metrics.jsonl
contract-lint record verify latest
```

## References
- https://slsa.dev/spec/v1.0/provenance
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ...rule import Rule
from ..evidence import RecordEvidence


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    if evidence.record is None or evidence.recomputed is None:
        return
    there = evidence.recomputed.files
    for file in evidence.record.files:
        now = there.get(file.path)
        if now == file:
            continue
        said = "is not there" if now is None else "has another content than when the record was written"
        resized = now is not None and now.bytes != file.bytes
        if now is not None and resized:
            said += f": {file.bytes:,} B then, {now.bytes:,} B now"
        yield evidence.finding(
            RULE,
            f"a bound file {said}",
            subject=file.path,
            location=evidence.place(file.path),
            expected=file.sha256,
            found="no file" if now is None else f"{now.bytes:,} B" if resized else now.sha256,
            help="put back what the record was made from, or make a new record",
        )
    for folder, paths in evidence.recomputed.added.items():
        for path in paths:
            yield evidence.finding(
                RULE,
                f"the checkpoint {folder} has a file that was not in it when the record was written",
                subject=path,
                location=evidence.place(path),
                expected="no file",
                found="a file",
                help="take it away if it is not of the checkpoint, or make a new record",
            )


RULE = Rule(
    code="EXP602",
    name="bound-file-changed",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
