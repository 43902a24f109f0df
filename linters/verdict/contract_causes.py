"""One root where the contract contradicts both itself and the program: findings on either side that say the same.

A wrong value in a contract is often seen twice, by a rule on the contract alone and by one that compares it with the
program. The first is the root where both name one key, as a program says nothing new about a value that cannot hold. It
is the other way round where the program shows which of several keys is at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ...contracts.finding import Finding
from ...contracts.key import Key, parse_key
from ...contracts.pattern import path_pattern

MESH_SIZE = "SHD006"
"""On another mesh than the target's, nothing that a program shows can agree."""


def fold_contract(on_contract: Iterable[Finding], on_steps: Iterable[Finding]) -> list[Finding]:
    """All findings, those on the contract first. Consequences of what becomes a consequence follow the new root."""
    stated, shown = list(on_contract), list(on_steps)
    stated = [_under(finding, shown, _shown_by) for finding in stated]
    errors = [finding for finding in stated if finding.is_root and finding.severity == "error"]
    shown = [_under(finding, errors, _stated_by) for finding in shown]
    moved = {finding.fingerprint: finding.caused_by for finding in shown if finding.caused_by is not None}
    return stated + [
        replace(finding, caused_by=moved.get(finding.caused_by, finding.caused_by)) if finding.caused_by else finding
        for finding in shown
    ]


def _under(finding: Finding, others: list[Finding], explains: Callable[[Finding, Finding], bool]) -> Finding:
    if not finding.is_root:
        return finding
    cause = next((other for other in others if other.is_root and explains(other, finding)), None)
    return finding if cause is None else replace(finding, caused_by=cause.fingerprint)


def _stated_by(stated: Finding, shown: Finding) -> bool:
    """Whether a fault within the contract is why a program seems to break it."""
    return stated.code == MESH_SIZE or _same_promise(_key(stated), _key(shown))


def _shown_by(shown: Finding, stated: Finding) -> bool:
    """Whether a program shows what a fault within the contract comes from."""
    if stated.code == "SHD013":  # no closed form for a placement that is not the program's
        return shown.code == "SHD202"
    if stated.code == "SHD002" and shown.code == "SEM203":  # a rule for parameters that only the program has
        pattern = path_pattern(stated.found or "")
        return any(pattern.matches(path) for path in shown.details.get("unpromised", ()))
    return False


def _same_promise(stated: Key, shown: Key) -> bool:
    """One key, or one inside of the other; a whole section or step is no single promise."""
    shorter = min(len(stated), len(shown))
    return shorter >= (3 if stated[:1] == ("step",) else 2) and stated[:shorter] == shown[:shorter]


def _key(finding: Finding) -> Key:
    return parse_key(finding.key) if finding.key else ()
