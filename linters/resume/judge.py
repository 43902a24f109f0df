"""From the facts of a resume to findings: what follows from another is folded under it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...contracts.finding import Finding, sort_key, tell_apart
from ..registry import rules
from ..verdict.deviations import Verdict, accept
from .evidence import ResumeEvidence

WARM = "CKP708"
LOST, STATE, OTHER_NUMBERS, MESH_LOSS = "CKP705", "CKP706", "CKP701", "CKP707"
GIVEN = ("CKP702", "CKP703", "CKP704")
"""Batches, keys and the learning rate: given to a step, no part of its state."""


def judge_resume(evidence: ResumeEvidence) -> list[Finding]:
    """The findings, those marked that the contract accepts; the same facts always give the same list."""
    found = tell_apart([finding for rule in rules("resume") for finding in rule.check(evidence)])
    warm = next((each for each in found if each.code == WARM), None)
    under = {} if warm is None else {each.fingerprint: warm for each in found if _is_warm(each, evidence)}
    roots = [each for each in found if each.fingerprint not in under]
    for each in roots:
        if (cause := _cause(each, roots)) is not None:
            under[each.fingerprint] = cause
    folded = [_folded(each, _top(each, under)) if each.fingerprint in under else each for each in found]
    return sorted(accept(Verdict(evidence.loaded, tuple(folded), ())), key=sort_key)


def _is_warm(finding: Finding, evidence: ResumeEvidence) -> bool:
    """Whether a finding tells of a warm start: of a state that began anew, and of what begins anew beside it."""
    details = finding.details
    if "mesh" in details:
        return details["mesh"] in evidence.warm_meshes
    if details.get("leg") not in evidence.warm:
        return False
    return finding.code in (STATE, OTHER_NUMBERS) or bool(details.get("anew"))


def _cause(finding: Finding, roots: Iterable[Finding]) -> Finding | None:
    """What explains other numbers, and what is found on other meshes: the first fault of the resume itself."""
    if finding.code == OTHER_NUMBERS:
        causes = (LOST, STATE, *GIVEN, WARM)
    elif finding.code == MESH_LOSS:
        causes = (LOST, STATE, WARM, *GIVEN, OTHER_NUMBERS)
    elif finding.code == STATE and "mesh" in finding.details:
        causes = (LOST, STATE)
    elif finding.code == STATE:
        same = (each for each in roots if each.details.get("leg") == finding.details["leg"])
        return next((each for each in same if each.code == LOST), None)
    else:
        return None
    own = [each for each in roots if "mesh" not in each.details]
    if finding.code == MESH_LOSS:  # on the same mesh the state itself may be another
        own += [each for each in roots if each.code == STATE and each.details.get("mesh") == finding.details["mesh"]]
    return next((each for code in causes for each in own if each.code == code), None)


def _top(finding: Finding, under: dict[str, Finding]) -> Finding:
    """The last cause of a finding."""
    cause = under[finding.fingerprint]
    while cause.fingerprint in under:
        cause = under[cause.fingerprint]
    return cause


def _folded(finding: Finding, cause: Finding) -> Finding:
    """A consequence. Those of a warm start are no worse than it: it may be meant."""
    severity = cause.severity if cause.code == WARM else finding.severity
    return replace(finding, caused_by=cause.fingerprint, severity=severity)
