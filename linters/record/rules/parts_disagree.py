"""Two parts of a record contradict each other.

## What it does
Holds the parts of a record against each other: its name against its file's and the contract's; its kind against its
verdicts, metrics and programs (only `record create` takes them from files, only `verify` gives a verdict of its own,
only `train` has programs as they were lowered); whether the source was dirty against its digest; the targets of the
programs against the devices; the contract, the captures and the sources of metrics and verdicts against the files that
are bound, each of them once; the files of an Orbax checkpoint that are bound against the list of checkpoints.

## Why is this bad?
No command of contract-lint writes such a record. It was edited since, or something else made it.

## Example
```json
{"source": {"commit": "1f0c...", "dirty": false, "dirty_digest": "9a41..."}}
```

## Use instead
```json
{"source": {"commit": "1f0c...", "dirty": true, "dirty_digest": "9a41..."}}
```

## References
- https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ....contracts.manifest import MANIFEST
from ....contracts.record import ProgramState, Record, digest_in
from ...checkpoint.facts import MARKER
from ...checkpoint.steps import STEP_METADATA
from ...rule import Rule
from ..evidence import RecordEvidence
from ..files import start_of

_OF_CHECKPOINT = (STEP_METADATA, MARKER)
"""Files that a checkpoint has, and nothing else."""
_PROGRAMS = {
    "verify": "compiled, without a capture",
    "train": "lowered, without a capture",
    "created": "compiled, in a capture",
}
"""What the programs of each kind are."""
_OWN_VERDICTS = {"verify": 1, "train": 0, "created": 0}
"""How many verdicts without a report each kind has."""


def check(evidence: RecordEvidence) -> Iterable[Finding]:
    record = evidence.record
    if record is None:
        return
    for key, said, expected, found in [
        *_names(record, evidence.path),
        *_source(record),
        *_kind(record),
        *_devices(record),
        *_files(record),
    ]:
        yield evidence.finding(
            RULE,
            said,
            subject=f"{key} {said}",
            key=key,
            expected=expected,
            found=found,
            help="make a new record: this one was edited, or put together by something else",
        )


_Told = tuple[str, str, str, str]


def _names(record: Record, path: str) -> Iterator[_Told]:
    file = path.rpartition("/")[2]
    if digest_in(file) == record.digest and file != record.file_name:
        yield "name", "the record has another name than its file", record.file_name, file
    if record.name != record.contract.name:
        yield "name", "the record has another name than its contract", record.contract.name, record.name
        return
    configured = record.config.get("name")
    if isinstance(configured, str) and configured[: len(record.name)] != record.name:
        yield "name", "the record has another name than its configuration", configured[:500], record.name


def _source(record: Record) -> Iterator[_Told]:
    source = record.source
    key, dirty = "source.dirty", str(source.dirty).lower() if source.dirty is not None else "nothing"
    if source.dirty is False and (source.dirty_digest or source.undigested):
        yield (
            key,
            "the source is called clean, and there is a digest of what differs, or why there is none",
            "true",
            dirty,
        )
    if source.dirty_digest and source.undigested:
        yield key, "what differs has a digest, and a reason why it has none", "one of the two", "both"
    if source.dirty is None and (source.dirty_digest or (source.commit is not None and not source.undigested)):
        yield key, "a source with a commit or a digest does not say whether it was dirty", "true or false", dirty
    if source.commit is None and source.dirty is not None:
        yield "source.commit", "whether the source was dirty is said, and no commit", "a commit", "none"


def _kind(record: Record) -> Iterator[_Told]:
    kind = record.kind
    own = [each for each in record.verdicts if each.source is None]
    if len(own) != _OWN_VERDICTS[kind] or (kind == "verify" and any(each.verb != "verify" for each in own)):
        wanted = "one verdict of `verify` itself" if _OWN_VERDICTS[kind] else "no verdict without the report it is of"
        yield "kind", f"a record of kind `{kind}` has other verdicts", wanted, f"{len(own)}"
    given = sorted(name for name, each in record.metrics.items() if (each.source is not None) != (kind == "created"))
    if given:
        wanted = "metrics that name their file" if kind == "created" else "metrics that the command measured"
        yield "kind", f"a record of kind `{kind}` has other metrics: {given[0]}", wanted, f"{len(given)} others"
    odd = next((each for each in record.programs if _form(each) != _PROGRAMS[kind]), None)
    if odd is not None:
        said = f"a record of kind `{kind}` has another program: {odd.step} on {odd.target}"
        yield "kind", said, _PROGRAMS[kind], _form(odd)
    if kind != "created" and (record.conclusion is not None or any(each.source for each in record.verdicts)):
        yield "kind", f"a record of kind `{kind}` has a conclusion or a report", "neither", "one of them"


def _form(program: ProgramState) -> str:
    form = "compiled" if program.level is None else program.level
    return f"{form}, {'without a capture' if program.capture is None else 'in a capture'}"


def _devices(record: Record) -> Iterator[_Told]:
    targets = {each.target for each in record.devices}
    for target in sorted({each.target for each in record.programs} - targets):
        said = f"a program was compiled for {target}, and no devices of it are named"
        yield "devices", said, target, ", ".join(sorted(targets)) or "none"


def _files(record: Record) -> Iterator[_Told]:
    bound = {file.path for file in record.files}
    sources = {each.source for each in [*record.metrics.values(), *record.verdicts] if each.source is not None}
    sources |= {f"{start_of(each.capture)}{MANIFEST}" for each in record.programs if each.capture is not None}
    for path in sorted(sources - bound) + sorted({record.contract.path} - bound):
        yield "subject", f"the record rests on {path}, and does not bind it", path, "no such file"
    named = [f"the checkpoint {each.folder}" for each in record.checkpoints]
    named += [f"the data of {each.manifest}" for each in record.data]
    named += [f"the verdict of {each.source}" for each in record.verdicts if each.source is not None]
    named += [
        f"the program of {p.step} on {p.target}{f' in {p.capture}' if p.capture else ''}" for p in record.programs
    ]
    named += [f"the devices of {each.target}" for each in record.devices] if record.kind != "created" else []
    for what in (what for what, count in Counter(named).items() if count > 1):
        yield "predicate", f"twice in the record: {what}", "once", "twice"
    held = tuple(start_of(each.folder) for each in record.checkpoints)
    loose = sorted(path for path in bound if path.rpartition("/")[2] in _OF_CHECKPOINT and not path.startswith(held))
    if loose:
        said = f"files of a checkpoint are bound, and it is none of those listed: {loose[0]}"
        yield "checkpoints", said, "the checkpoint by its digest", f"{len(record.checkpoints)} others"


RULE = Rule(
    code="EXP613",
    name="parts-disagree",
    severity="error",
    evidence="record",
    doc=__doc__ or "",
    check=check,
)
