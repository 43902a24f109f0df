"""A file that a record binds is gone, is not what it was, or has a new one beside it.

## What it does
Looks for every file that the record names, below the folder that the record is about, and compares size and sha256.
What stands in its place and is no file is not read: a symbolic link (none is followed), a folder, a file of a gigabyte
or more that is nearly all hole, one that cannot be opened.
A folder of a checkpoint that is gone, or a link, is one finding, whatever it held.
In the folder of a checkpoint there may be no other file, since its root is the digest of all of them; where that is the
whole project, other files are not asked for.

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
from ....contracts.record import FileDigest
from ...rule import Rule
from ..evidence import RecordEvidence
from ..files import NoFile, start_of


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    if evidence.record is None or evidence.recomputed is None:
        return
    there, gone = evidence.recomputed.files, evidence.recomputed.gone
    for folder, instead in gone.items():
        held = sum(file.path.startswith(start_of(folder)) for file in evidence.record.files)
        files = f"{held:,} bound file{'s' * (held != 1)}"
        yield evidence.finding(
            RULE,
            f"the folder of a bound checkpoint {instead.said}",
            subject=folder,
            location=evidence.place(folder),
            expected=f"a folder with {files}",
            found=instead.what,
            help=f"{instead.help}, or make the record of the newest step",
        )
    starts = tuple(map(start_of, gone))
    for file in evidence.record.files:
        now = there.get(file.path)
        if now == file or file.path.startswith(starts):
            continue
        said, found, help = _now(file, now)
        yield evidence.finding(
            RULE,
            f"a bound file {said}",
            subject=file.path,
            location=evidence.place(file.path),
            expected=file.sha256,
            found=found,
            help=help,
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


def _now(file: FileDigest, now: FileDigest | NoFile | None) -> tuple[str, str, str]:
    """What is said of a file that is not what it was, what is there, and what to do."""
    help = "put back what the record was made from, or make a new record"
    if now is None:
        return "is not there", "no file", help
    if isinstance(now, NoFile):
        return now.said, now.what, f"{now.help}, or make a new record"
    said = "has another content than when the record was written"
    if now.bytes != file.bytes:
        return f"{said}: {file.bytes:,} B then, {now.bytes:,} B now", f"{now.bytes:,} B", help
    return said, now.sha256, help


RULE = Rule(
    code="EXP602",
    name="bound-file-changed",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
