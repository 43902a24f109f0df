"""A digest in a record does not follow from what it is the digest of.

## What it does
Works out again, from the record: the digest of the contract and of each section from the configuration, that of the
environment from its packages, that of each checkpoint from its files. And from files, where they are there and
unchanged: what the contract says, and what a data manifest lists.

## Why is this bad?
Two records are compared by their digests. One that follows from nothing makes different runs look alike.

## Example
```json
{"config": {"name": "small"}, "contract": {"sections": {"name": "that of another"}}}
```

## Use instead
```sh
contract-lint record create small.contract.yaml
```

## References
- https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ....contracts.record import FileDigest, Record, canonical, lock_digest, section_digests, sha256
from ...rule import Rule
from ..evidence import Recomputed, RecordEvidence
from ..files import lies_beside, start_of, tree_digest

_HELP = "make a new record: this one was put together by something else"


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    record = evidence.record
    if record is None:
        return
    pairs = [*_inside(record), *(_outside(record, evidence.recomputed) if evidence.recomputed is not None else ())]
    for what, written, follows in pairs:
        if written != follows:
            yield evidence.finding(
                RULE,
                f"the digest of {what} is not what follows from it",
                subject=what,
                expected=follows or "none",
                found=written or "none",
                help=_HELP,
            )


def _inside(record: Record) -> Iterator[tuple[str, str | None, str | None]]:
    yield "the configuration", record.contract.digest, sha256(canonical(record.config))
    follows = section_digests(record.config)
    for name in sorted({*follows, *record.contract.sections}):
        yield f"the section {name}", record.contract.sections.get(name), follows.get(name)
    yield "the environment", record.environment.lock, lock_digest(record.environment.packages)
    for each in record.checkpoints:
        files = below(record, each.folder)
        yield f"the checkpoint {each.folder}", f"{each.files}, {each.root}", f"{len(files)}, {tree_digest(files)}"


def _outside(record: Record, recomputed: Recomputed) -> Iterator[tuple[str, str | None, str | None]]:
    if recomputed.contract is not None:
        yield f"what {record.contract.path} says", record.contract.digest, recomputed.contract
    for data in record.data:
        if data.manifest in recomputed.data:
            yield f"the data that {data.manifest} lists", data.root, recomputed.data[data.manifest]


def below(record: Record, folder: str) -> dict[str, FileDigest]:
    """The files of a record in the folder of a checkpoint, by their path there."""
    start = start_of(folder)
    inside = {file.path[len(start) :]: file for file in record.files if file.path.startswith(start)}
    return {path: file for path, file in inside.items() if not lies_beside(path)}


RULE = Rule(
    code="EXP603",
    name="digest-not-following",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
