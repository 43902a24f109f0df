"""What every output format is a view of: the findings folded by cause, the verdict, the provenance and the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ...contracts.finding import SEVERITY_RANK, Finding, Location, Severity, sort_key

if TYPE_CHECKING:
    from ...linters.checkpoint.coverage import Coverage
    from ...linters.checkpoint.summary import Summary
    from .not_checked import NotChecked
    from .resolved import ResolvedRow
    from .tables import StepTables

FailOn = Literal["error", "warning", "info", "never"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Root:
    """One cause and the findings that follow from it."""

    finding: Finding
    consequences: tuple[Finding, ...] = ()

    @property
    def severity(self) -> Severity:
        """The worst severity among the cause and what follows from it."""
        return max((self.finding, *self.consequences), key=lambda each: SEVERITY_RANK[each.severity]).severity


@dataclass(frozen=True, slots=True)
class RuleCount:
    """The findings of one rule."""

    findings: tuple[Finding, ...]

    @property
    def code(self) -> str:
        return self.findings[0].code

    @property
    def count(self) -> int:
        return len(self.findings)

    @property
    def severity(self) -> Severity:
        """The worst among them."""
        return max((each.severity for each in self.findings), key=lambda severity: SEVERITY_RANK[severity])

    @property
    def safe(self) -> int:
        """How many have a fix that cannot change what a program computes."""
        return sum(each.fix is not None and each.fix.safe for each in self.findings)

    @property
    def unsafe(self) -> int:
        """How many have another fix."""
        return sum(each.fix is not None and not each.fix.safe for each in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of one command. Build it with `report`, which folds and sorts the findings.

    `subject` says what was judged (`dense-fsdp`, `3 contracts`), `targets` on which targets, `captures` is the
    provenance of each capture; nothing in it depends on the clock, the machine or the folder of the capture.

    `sources` counts the Python files, `excerpts` holds the first lines of source at each place as (number, text),
    `notes` says what was passed over, `statistics` asks for counts instead of the findings, `verbose` for all that was
    set aside. `not_checked` are targets that could not be looked at: whatever was promised of them is open, so the
    report never passes.
    """

    verb: str
    subject: str
    targets: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    captures: tuple[dict[str, Any], ...] = ()
    tables: tuple[StepTables, ...] = ()
    resolved: tuple[ResolvedRow, ...] = ()
    checkpoint: Summary | None = None
    sources: int = 0
    excerpts: Mapping[Location, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    statistics: bool = False
    verbose: bool = False
    fail_on: FailOn = "error"
    file: str = field(default="", metadata={"doc": "The file that `subject` stands for, where it is one."})
    proof: str | None = field(default=None, metadata={"doc": "What a clean verdict rests on, in a few words."})
    proven_with_warnings: bool = field(default=False, metadata={"doc": "Whether warnings leave that as it is."})

    @property
    def coverage(self) -> Coverage | None:
        """The matrix slot x parameter of a checkpoint, where there are slots."""
        return self.checkpoint.matrix if self.checkpoint is not None and self.checkpoint.matrix.slots else None

    @property
    def proven(self) -> str | None:
        """The proof, where findings leave it as it is."""
        summary = self.summary()
        spoilt = summary["error"] or (summary["warning"] and not self.proven_with_warnings)
        return None if spoilt else self.proof

    def roots(self) -> list[Root]:
        """Causes in report order, each with its consequences; accepted and suppressed ones are among them."""
        folded: dict[str, list[Finding]] = {}
        for finding in self.findings:
            if finding.caused_by is not None:
                folded.setdefault(finding.caused_by, []).append(finding)
        return [Root(f, tuple(folded.get(f.fingerprint, ()))) for f in self.findings if f.is_root]

    def new_roots(self) -> list[Root]:
        return [root for root in self.roots() if root.finding.status == "new"]

    def summary(self) -> dict[str, int]:
        """New root findings by severity: `{"error": 2, "warning": 0, "info": 1}`."""
        counts = dict.fromkeys(SEVERITIES, 0)
        for root in self.new_roots():
            counts[root.finding.severity] += 1
        return {str(severity): count for severity, count in counts.items()}

    def set_aside(self) -> dict[str, int]:
        """Root findings that do not count, by status: accepted, suppressed, baseline."""
        counts: dict[str, int] = {}
        for root in self.roots():
            if root.finding.status != "new":
                counts[root.finding.status] = counts.get(root.finding.status, 0) + 1
        return dict(sorted(counts.items()))

    def failing(self) -> list[Root]:
        """New roots at or above `fail_on`, judged by the worst of root and consequences."""
        if self.fail_on == "never":
            return []
        limit = SEVERITY_RANK[self.fail_on]
        return [root for root in self.new_roots() if SEVERITY_RANK[root.severity] >= limit]

    @property
    def nothing_checked(self) -> bool:
        """Whether `check` met no contract and no source: a pass that proves nothing."""
        return self.verb == "check" and not self.contracts and not self.sources and not self.findings

    def counts(self) -> list[RuleCount]:
        """New root findings by rule, the most frequent first."""
        by_rule: dict[str, list[Finding]] = {}
        for root in self.new_roots():
            by_rule.setdefault(root.finding.code, []).append(root.finding)
        return sorted(map(RuleCount, map(tuple, by_rule.values())), key=lambda each: (-each.count, each.code))

    @property
    def fixable(self) -> int:
        """New root findings with a safe fix."""
        return sum(each.safe for each in self.counts())

    @property
    def exit_code(self) -> int:
        """2 where a promise could not be checked, whatever else was found; 1 for findings that fail."""
        return 2 if self.not_checked else 1 if self.failing() else 0

    def largest(self) -> Root | None:
        """The first thing to do: the most severe new root, and among those the one that explains most."""
        roots = self.new_roots()
        return max(roots, key=lambda r: (SEVERITY_RANK[r.severity], len(r.consequences))) if roots else None


def report(findings: Iterable[Finding], **fields: Any) -> Report:
    """A Report over `findings`, sorted. A consequence whose cause is not among the new findings (it was ignored, or
    accepted) stands for itself, so that setting one finding aside never hides another."""
    listed = sorted(findings, key=sort_key)
    status = {finding.fingerprint: finding.status for finding in listed if finding.is_root}
    standing = [
        replace(finding, caused_by=None)
        if finding.caused_by is not None and finding.status == "new" and status.get(finding.caused_by) != "new"
        else finding
        for finding in listed
    ]
    # A set-aside consequence of an absent cause would otherwise be in no list at all.
    fingerprints = {finding.fingerprint for finding in standing if finding.is_root}
    standing = [
        replace(finding, caused_by=None) if finding.caused_by and finding.caused_by not in fingerprints else finding
        for finding in standing
    ]
    return Report(findings=tuple(_folded(standing)), **fields)


def _folded(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Each root with what follows from it right behind, both in the order they came in."""
    below: dict[str, list[Finding]] = {}
    roots: list[Finding] = []
    for finding in findings:
        (roots if finding.caused_by is None else below.setdefault(finding.caused_by, [])).append(finding)
    for root in roots:
        yield root
        yield from below.pop(root.fingerprint, ())
