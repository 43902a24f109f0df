"""`record verify`: a record against its name, and everything it binds against what is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding, Location
from ....contracts.load import load_contract
from ....contracts.record import FileDigest, Metric, Record, digest_in, sha256
from ....contracts.record_file import parse_record, record_bytes
from ....hlo_tools.capture import read_capture
from ....linters.record.evidence import Recomputed, RecordEvidence
from ....linters.record.files import digest_below, size_below
from ....linters.record.judge import judge_record
from ..report import FailOn, Report, report
from ..selection import require_known, selected
from .build import programs
from .create import Created
from .metrics import MAX_BYTES, read_metrics
from .place import find, root_of, short, shown_path
from .reported import verdict_in

VERB = "record verify"
Said = TypeVar("Said")
_FEW = 4
"""Files that a note names."""


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
    """Findings on one record. Raises ContractLintError for what is no record, for a bound file that is a link or lies
    outside of `root`, and an unknown rule."""
    require_known([*select, *ignore])
    path = find(named, cache_dir)
    shown = shown_path(path)
    data = record_bytes(path, shown)
    promised, digest = digest_in(path.name), sha256(data)
    if promised is None:
        help = "a record is named NAME.<sha256 of the file>.record.json: give it back its name"
        raise ContractLintError("is not named as records are, with its sha256", Location(shown), help)
    record = parse_record(data, shown) if promised == digest else None
    recomputed, notes = None, list[str]()
    if record is not None:
        base = Path(root).resolve() if root is not None else root_of(path)
        notes += _taken(record)
        recomputed = _recomputed(record, base, on_progress or (lambda _: None), notes.append)
    evidence = RecordEvidence(shown, digest, promised, record, recomputed)
    return report(
        selected(judge_record(evidence), select, ignore),
        verb=VERB,
        subject=name_of(shown, record, digest),
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
    found = selected(judged_new(path, record), select, ignore)
    files = f"{len(record.files):,} file{'s' * (len(record.files) != 1)}"
    metrics = f"{len(record.metrics):,} metric{'s' * (len(record.metrics) != 1)}"
    sections = f"{len(record.contract.sections):,} section{'s' * (len(record.contract.sections) != 1)}"
    proof = f"binds {files}, {metrics}, {sections} of the contract"
    return report(
        found,
        verb="record create",
        subject=name_of(shown_path(path), record, record.digest),
        fail_on=fail_on,
        proof=proof,
        notes=created.notes,
    )


def name_of(shown: str, record: Record | None, digest: str) -> str:
    """What reports call a record; the name of its file where nothing in it is believed."""
    return shown if record is None else f"record {short(digest)} of {record.name}"


def _recomputed(record: Record, root: Path, tell: Callable[[str], None], note: Callable[[str], None]) -> Recomputed:
    files: dict[str, FileDigest | None] = {}
    for file in record.files:
        tell(f"reading {file.path}")
        size = size_below(root, file.path)
        # A file of another size has another content; it need not be read to say so.
        told = None if size is None else FileDigest(path=file.path, sha256="0" * 64, bytes=size)
        files[file.path] = digest_below(root, file.path) if size == file.bytes else told

    def metrics(data: bytes, shown: str) -> dict[str, Metric]:
        return read_metrics(data, shown, note)

    whole = {path for path, now in files.items() if now is not None} - {
        file.path for file in record.files if files[file.path] != file
    }
    return Recomputed(
        files,
        _contract(record, root, whole),
        _programs(record, root, whole),
        _shown_root(root),
        _said_by(root, whole, (metric.source for metric in record.metrics.values()), metrics),
        _said_by(root, whole, (verdict.source for verdict in record.verdicts), verdict_in),
    )


def _said_by(
    root: Path, whole: set[str], sources: Iterable[str | None], read: Callable[[bytes, str], Said]
) -> dict[str, Said | None]:
    """What each unchanged file says now, None for one that is no such file."""
    found: dict[str, Said | None] = {}
    for source in sorted({each for each in sources if each is not None} & whole):
        path = root / source
        try:
            found[source] = read(path.read_bytes(), source) if path.stat().st_size <= MAX_BYTES else None
        except (ContractLintError, OSError):
            found[source] = None
    return found


def _contract(record: Record, root: Path, whole: set[str]) -> str | None:
    """The digest of what the contract says now; None where its files changed, which is said of them."""
    if record.contract.path not in whole:
        return None
    loaded = load_contract(root / record.contract.path, root)
    unchanged = all(name in whole for name in loaded.document.texts)
    return loaded.digest if unchanged and not _unsayable(loaded.document.data) else None


def _unsayable(value: object) -> bool:
    """Whether there is a number that JSON has no word for: a record has a text in its place, and another digest."""
    if isinstance(value, dict):
        return any(map(_unsayable, value.values()))
    if isinstance(value, list):
        return any(map(_unsayable, value))
    return isinstance(value, float) and value - value != 0


def _programs(record: Record, root: Path, whole: set[str]) -> dict[tuple[str, str], str | None]:
    found: dict[tuple[str, str], str | None] = {}
    for folder in sorted({each.capture for each in record.programs if each.capture is not None}):
        if f"{folder}/manifest.json" in whole:
            inside = [path for path in (file.path for file in record.files) if path.startswith(f"{folder}/")]
            if all(path in whole for path in inside):
                found |= {(each.target, each.step): each.sha256 for each in programs(read_capture(root / folder))}
    return found


def _shown_root(root: Path) -> str:
    here = Path.cwd().resolve()
    if root == here:
        return ""
    return root.relative_to(here).as_posix() if root.is_relative_to(here) else root.as_posix()


def _taken(record: Record) -> tuple[str, ...]:
    """What no file that a record binds tells, and so nobody held against anything."""
    taken = ["author", "date", *(("conclusion",) if record.conclusion is not None else ())]
    if record.source.commit is not None:
        taken.insert(0, f"source (commit {short(record.source.commit)}{', dirty' if record.source.dirty else ''})")
    own = [name for name, each in record.metrics.items() if each.source is None]
    taken += [f"{len(own):,} metric{'s' * (len(own) != 1)} that the command measured"] if own else []
    taken += ["verdict of the command"] if any(each.source is None for each in record.verdicts) else []
    notes = [f"not compared, taken as written: {', '.join(taken)}"]
    loose = _unnamed(record)
    if loose:
        few = ", ".join(loose[:_FEW]) + (f" and {len(loose) - _FEW:,} more" if len(loose) > _FEW else "")
        notes.append(f"{len(loose):,} bound file{'s' * (len(loose) != 1)} that no part names: {few}")
    return tuple(notes)


def _unnamed(record: Record) -> list[str]:
    """Bound files that are neither of the contract nor of a checkpoint, a capture, a data manifest, a metric or a
    verdict: their bytes are bound, and nothing says what they are."""
    named = {record.contract.path, *(each.manifest for each in record.data)}
    named |= {each.source for each in [*record.metrics.values(), *record.verdicts] if each.source is not None}
    folders = {each.folder for each in record.checkpoints} | {each.capture for each in record.programs if each.capture}
    held = tuple("" if folder == "." else f"{folder}/" for folder in folders)
    paths = (file.path for file in record.files)
    return [path for path in paths if path not in named and not path.startswith(held) and not path.endswith(".yaml")]


def _proof(record: Record, recomputed: Recomputed) -> str:
    """What a clean verdict rests on: `12 files unchanged, 9 digests follow`; and what nobody worked out again."""
    digests = 2 + len(record.contract.sections) + len(record.checkpoints)
    digests += (recomputed.contract is not None) + len(recomputed.programs)
    results = sum(len(each or ()) for each in recomputed.metrics.values()) + len(recomputed.verdicts)
    parts = [f"{len(record.files):,} file{'s' * (len(record.files) != 1)} unchanged, {digests:,} digests follow"]
    if results:
        parts.append(f"{results:,} metric{'s' * (results != 1)} or verdicts follow from their files")
    unbound = [each for each in record.programs if each.capture is None]
    if unbound:
        count = len(unbound)
        parts.append(f"{count} program digest{'s' * (count != 1)} taken as written (no capture is bound)")
    return "; ".join(parts)
