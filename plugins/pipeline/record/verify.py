"""`record verify`: a record against its name, and everything it binds against what is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding, Location
from ....contracts.record import Record, digest_in, sha256
from ....contracts.record_file import parse_record, record_bytes
from ....linters.record.evidence import Recomputed, RecordEvidence
from ....linters.record.judge import judge_record
from ..report import FailOn, Report, report
from ..selection import require_known, selected
from .create import Created
from .place import NAMED, find, root_of, short, shown_path
from .recompute import as_bound, recompute

VERB = "record verify"


def verify_record(
    named: str,
    *,
    root: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
    on_progress: Callable[[str], None] | None = None,
) -> Report:
    """Findings on one record. Raises ContractLintError for what is no record, for one that names a path outside of
    `root`, and for an unknown rule."""
    require_known([*select, *ignore])
    path = find(named, cache_dir)
    shown = shown_path(path)
    data = record_bytes(path, shown)
    promised, digest = digest_in(path.name), sha256(data)
    if promised is None:
        raise ContractLintError("is not named as records are, with its sha256", Location(shown), NAMED)
    record = parse_record(data, shown) if promised == digest else None
    recomputed, notes = None, list[str]()
    if record is not None:
        base = Path(root).resolve() if root is not None else root_of(path)
        more = list[str]()
        recomputed = recompute(record, base, on_progress or (lambda _: None), more.append)
        notes += [*_taken(record, recomputed), *more]
    evidence = RecordEvidence(shown, digest, promised, record, recomputed)
    return report(
        selected(judge_record(evidence), select, ignore),
        verb=VERB,
        subject=name_of(record, promised),
        file=shown,
        fail_on=fail_on,
        proof=_proof(record, recomputed) if record is not None and recomputed is not None else None,
        notes=tuple(notes),
    )


def judged_new(path: Path, record: Record) -> list[Finding]:
    """What the rules say of a record that was just written: of itself, no file is read again."""
    return judge_record(RecordEvidence(shown_path(path), record.digest, record.digest, record))


def new_report(created: Created, select: Sequence[str], ignore: Sequence[str], fail_on: FailOn) -> Report:
    """The report on a record that was just written."""
    require_known([*select, *ignore])
    path, record = created.path, created.record
    recomputed = as_bound(record, created.root)
    evidence = RecordEvidence(shown_path(path), record.digest, record.digest, record, recomputed)
    found = selected(judge_record(evidence), select, ignore)
    files = f"{len(record.files):,} file{'s' * (len(record.files) != 1)}"
    metrics = f"{len(record.metrics):,} metric{'s' * (len(record.metrics) != 1)}"
    sections = f"{len(record.contract.sections):,} section{'s' * (len(record.contract.sections) != 1)}"
    proof = f"binds {files}, {metrics}, {sections} of the contract"
    return report(
        found,
        verb="record create",
        subject=name_of(record, record.digest),
        file=shown_path(path),
        fail_on=fail_on,
        proof=proof,
        notes=created.notes,
    )


def name_of(record: Record | None, promised: str) -> str:
    """What reports call a record: by the digest in its name, and what is in it, where that is believed."""
    return f"record {short(promised)}{f' of {record.name}' if record is not None else ''}"


def _taken(record: Record, recomputed: Recomputed) -> tuple[str, ...]:
    """What no file that a record binds tells, and so nobody held against anything."""
    taken = ["tool", "author", "environment", "date", *(("conclusion",) if record.conclusion is not None else ())]
    if record.source.commit is not None:
        taken.insert(0, f"source (commit {short(record.source.commit)}{', dirty' if record.source.dirty else ''})")
    own = [name for name, each in record.metrics.items() if each.source is None]
    taken += [f"{len(own):,} metric{'s' * (len(own) != 1)} that the command measured"] if own else []
    taken += ["steps of the run"] if record.steps is not None else []
    taken += ["verdict of the command"] if any(each.source is None for each in record.verdicts) else []
    taken += ["kind, effort and flags of devices"] if record.kind == "verify" else []
    if record.kind == "train" and any(each.target not in recomputed.flags for each in record.devices):
        taken.append(f"flags of devices (contract-lint {record.tool} trained)")
    unbound = sum(each.capture is None for each in record.programs)
    taken += [f"{unbound:,} program digest{'s' * (unbound != 1)} without a capture"] if unbound else []
    notes = [f"not compared, taken as written: {', '.join(taken)}"]
    if record.data:
        listed = f"the files that {record.data[0].manifest} lists"
        notes.append(f"{listed} are bound by its root and not read here: contract-lint batch manifest check reads them")
    return tuple(notes)


def _proof(record: Record, recomputed: Recomputed) -> str:
    """What a clean verdict rests on: `12 files unchanged, 9 digests follow`; and of what no capture is bound."""
    digests = 2 + len(record.contract.sections) + len(record.checkpoints)
    digests += (
        (recomputed.contract is not None)
        + sum(len(each.programs) for each in recomputed.captures.values() if each is not None)
        + len(recomputed.data)
    )
    counts = {
        "metric": sum(len(each or ()) for each in recomputed.metrics.values()),
        "verdict": len(recomputed.verdicts),
    }
    follow = [f"{count:,} {what}{'s' * (count != 1)}" for what, count in counts.items() if count]
    parts = [f"{len(record.files):,} file{'s' * (len(record.files) != 1)} unchanged, {digests:,} digests follow"]
    if follow:
        one = sum(counts.values()) == 1
        parts.append(f"{' and '.join(follow)} {'follows from its file' if one else 'follow from their files'}")
    unbound = sum(each.capture is None for each in record.programs)
    if unbound:
        parts.append(f"{unbound:,} program digest{'s' * (unbound != 1)} taken as written (no capture is bound)")
    return "; ".join(parts)
