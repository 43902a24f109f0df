"""Deviations: findings a team has accepted in the contract, with a reason and optionally an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from ..contracts.finding import Finding
from ..contracts.load import LoadedContract
from ..contracts.model import Deviation
from .contract.rules import unused_deviation


def accept(
    loaded: LoadedContract, findings: Sequence[Finding], complete: bool = True, today: date | None = None
) -> list[Finding]:
    """The findings with accepted ones marked, and one finding for every deviation that matched nothing.

    A consequence of an accepted root is accepted with it. An expired deviation accepts nothing. `complete` says that
    every target of the contract was judged: only then can a deviation be called unused.
    """
    if loaded.contract is None:
        return list(findings)
    today = today or date.today()
    used: set[int] = set()
    accepted: set[str] = set()
    for finding in findings:
        for index, deviation in enumerate(loaded.contract.deviations):
            if matches(deviation, finding):
                used.add(index)
                if deviation.until is None or deviation.until >= today:
                    accepted.add(finding.fingerprint)
    marked = [
        replace(f, status="accepted") if accepted & {f.fingerprint, f.caused_by} and f.status == "new" else f
        for f in findings
    ]
    unused = [index for index in range(len(loaded.contract.deviations)) if index not in used] if complete else []
    return marked + [unused_deviation.finding(loaded, index) for index in unused]


def matches(deviation: Deviation, finding: Finding) -> bool:
    """Whether rule and every field of `match` agree with the finding or its details."""
    if deviation.rule not in (finding.code, finding.name):
        return False
    facts: dict[str, Any] = {"step": finding.step, "key": finding.key, "subject": finding.subject} | dict(finding.details)
    return all(_same(facts.get(field), wanted) for field, wanted in deviation.match.items())


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, (list, tuple)) or isinstance(found, (list, tuple)):
        as_list = [list(v) if isinstance(v, (list, tuple)) else [v] for v in (found, wanted)]
        return as_list[0] == as_list[1]
    return found == wanted
