"""Deviations: findings a team has accepted in the contract, with a reason and optionally an end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...contracts.finding import Finding
from ...contracts.load import LoadedContract
from ...contracts.model import Deviation


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings on a contract. `judged` holds codes and names of the rules that left nothing unseen: they were asked
    about every step on every target."""

    loaded: LoadedContract
    findings: tuple[Finding, ...]
    judged: Collection[str]

    @property
    def deviations(self) -> Sequence[Deviation]:
        return self.loaded.contract.deviations if self.loaded.contract else ()


def accept(verdict: Verdict) -> list[Finding]:
    """The findings, accepted ones marked. A consequence of an accepted root is accepted with it; an expired deviation
    accepts nothing."""
    accepted = {f.fingerprint for f in verdict.findings if is_accepted(verdict.loaded, f)}
    return [
        replace(f, status="accepted") if f.status == "new" and accepted & {f.fingerprint, f.caused_by} else f
        for f in verdict.findings
    ]


def is_accepted(loaded: LoadedContract, finding: Finding) -> bool:
    """Whether a deviation that has not expired names the finding itself."""
    entries = loaded.contract.deviations if loaded.contract else ()
    return any(matches(d, finding) for d in entries if d.until is None or d.until >= loaded.today)


def matches(deviation: Deviation, finding: Finding) -> bool:
    """Whether rule and every field of `match` agree with the finding or its details."""
    if deviation.rule not in (finding.code, finding.name):
        return False
    facts: dict[str, Any] = {"step": finding.step, "key": finding.key, "subject": finding.subject} | dict(
        finding.details
    )
    return all(_as_list(facts.get(field)) == _as_list(wanted) for field, wanted in deviation.match.items())


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
