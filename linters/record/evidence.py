"""What the rules on an experiment record are given: the record, and what is there of the files it binds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...contracts.finding import Finding, Location
from ...contracts.record import DeviceState, FileDigest, Metric, ProgramState, Record, VerdictState
from ..rule import Rule
from .files import NoFile


@dataclass(frozen=True, slots=True)
class Captured:
    """What a bound capture tells: what it was made on, its programs by target and step, and its files by their path."""

    device: DeviceState
    programs: Mapping[tuple[str, str], ProgramState] = field(default_factory=dict)
    files: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Stated:
    """The contract that a piece of evidence (`what`) says it is of: digests by section, digests of the whole, files."""

    what: str
    sections: Mapping[str, str] = field(default_factory=dict)
    digests: Sequence[str] = ()
    files: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What was worked out again.

    `files`: path -> what is there, None where nothing is, a `NoFile` where something is that is none. `contract`: the
    digest of what the contract's file says now, `captures`: folder of a capture whose bound files are unchanged -> what
    it tells, None where it is none, `data`: manifest -> root; all only where they could be worked out. `metrics` and
    `verdicts`: unchanged file -> what it says now, None where it is no such file. `added`: folder of a checkpoint ->
    files there that the record does not bind, `gone`: such a folder that cannot be looked into -> what stands there.
    `stated`: unchanged file of evidence -> the contract that it says it is of, where it says that. `flags`:
    target -> those that the trainer gives the compiler there, where that is known.
    `root`: what paths are shown below.
    """

    files: Mapping[str, FileDigest | NoFile | None] = field(default_factory=dict)
    contract: str | None = None
    captures: Mapping[str, Captured | None] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    root: str = ""
    added: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gone: Mapping[str, NoFile] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Metric] | None] = field(default_factory=dict)
    verdicts: Mapping[str, VerdictState | None] = field(default_factory=dict)
    stated: Mapping[str, Stated] = field(default_factory=dict)
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordEvidence:
    """One record in its file. `record` is None where its bytes are not those that its name promises: nothing in it is
    believed then. `recomputed` is None where only the record itself is judged."""

    path: str
    digest: str
    promised: str | None
    record: Record | None
    recomputed: Recomputed | None = None

    def finding(self, rule: Rule, message: str, *, subject: str, **fields: Any) -> Finding:
        """A finding on what a record says; `location` where it is about a file."""
        return rule.finding(message, subject=subject, **fields)

    def place(self, path: str) -> Location:
        """Where a bound file is."""
        root = self.recomputed.root if self.recomputed is not None else ""
        return Location(f"{root}/{path}" if root else path)
