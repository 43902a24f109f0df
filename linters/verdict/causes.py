"""One root finding per cause: which findings follow from which.

A tensor that lies elsewhere than promised also changes the state bytes, the collectives and the peak. All of it is
reported, but only the first is the thing to mend: consequences carry the root's fingerprint in `caused_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import replace

from ...contracts.axis_part import is_rest
from ...contracts.finding import Finding

ANOTHER_PROGRAM = ("JIT209", "SHD214", "DAT203")
"""Of another build or mesh, or of a batch that cannot be: all else that is found in such a capture follows from it."""
REJECTED = ("JIT201", "SHD201")
SHAPE = ("SEM203", "DAT201", "SEM201", "SEM202", "NUM202")
PLACEMENT = ("SHD202", "SHD212")
COLLECTIVE = ("SHD208", "SHD204", "SHD207", "SHD206", "SHD205", "SHD213")
GRAPH = ("MEM205", "JIT204")

MEANING = ("SEM805", "SEM803", "SEM806", "SEM807", "SEM808")
"""What the probe of a step says of its terms names the fault that a comparison with one device only sees."""

CAUSES: dict[str, tuple[str, ...]] = {
    "SEM202": ("SEM203",),
    "SHD203": PLACEMENT,
    "MEM201": SHAPE + PLACEMENT,
    "MEM202": SHAPE + PLACEMENT + ("MEM204", "JIT203", *GRAPH, *COLLECTIVE, "MEM209", "MEM210"),
    "MEM203": SHAPE + PLACEMENT + ("MEM204", "JIT203", *GRAPH, *COLLECTIVE, "MEM209", "MEM210"),
    "MEM204": SHAPE + PLACEMENT,
    "MEM206": SHAPE + PLACEMENT + GRAPH,
    "MEM207": SHAPE + PLACEMENT + ("MEM204", "JIT203", *GRAPH, *COLLECTIVE, "MEM209", "MEM210"),
    "SHD204": SHAPE + PLACEMENT + (*GRAPH, "SHD208"),
    "SHD205": SHAPE + PLACEMENT + (*GRAPH, "SHD208", "SHD204", "SHD207"),
    "SHD206": SHAPE + PLACEMENT + (*GRAPH, "SHD208", "SHD204", "SHD207", "NUM203", "NUM201"),
    "SHD207": SHAPE + PLACEMENT + GRAPH,
    "SHD213": SHAPE + PLACEMENT + GRAPH,
    "SHD208": SHAPE + PLACEMENT + GRAPH,
    "SHD209": SHAPE + PLACEMENT + GRAPH + COLLECTIVE,
    "SHD211": SHAPE + PLACEMENT + GRAPH + COLLECTIVE + ("NUM203", "MEM210"),
    "NUM203": ("NUM201", *SHAPE, *PLACEMENT, *GRAPH),
    "SHD215": SHAPE + PLACEMENT + GRAPH + ("SHD204", "SHD207"),
    "SHD216": SHAPE + PLACEMENT + GRAPH + ("SHD204", "SHD207", "NUM203", "SHD215"),
    "MEM209": PLACEMENT,
    "MEM210": SHAPE + PLACEMENT,
    "JIT301": ("JIT207", "JIT206"),
    "JIT302": ("JIT202",),
    "SEM801": ("SEM809",),
    "SEM808": ("SEM809",),
    "SEM810": ("SEM809",),
    "SEM301": (*MEANING, "SHD205"),
    "SEM302": (*MEANING, "SHD205", "SEM301"),
    "SEM303": (*MEANING, "SEM814", "SHD205", "SEM301", "SEM302"),
}
"""Code of a consequence -> codes of its possible causes, the likeliest first."""

SAME_LINE = {code: ("JIT202",) for code in COLLECTIVE}
"""Causes that count only where both stand on one source line: what a callback prints is reduced there too."""

OWN_GROUP = ("SHD208",)
"""Causes that explain other collectives only where those are of the same kind and axes, or stand on the same line."""


LIMITS = ("MEM202", "MEM203", "MEM206", "MEM207", "MEM208", "MEM210", "SHD216")
"""Limits that the contract or the device sets: one that is not kept is new even where its cause has been accepted."""


SUMS = ("all-reduce", "reduce-scatter")
MOVES = ("all-gather", "all-to-all", "collective-permute")


PROMISED = ("SHD204", "SHD205", "SHD206", "SHD207")
"""Collectives that are not as promised: an accepted cause explains only what it accounts for to the element."""


def fold(findings: Iterable[Finding], accepted: Callable[[Finding], bool] = lambda _: False) -> list[Finding]:
    """The findings of one step on one target, each consequence pointing at its root.

    `accepted` says which findings a team has accepted; these explain no broken limit, and of broken promises only those
    that accepted repetitions make up exactly.
    """
    found = list(findings)
    parents = {index: _cause(finding, found) for index, finding in enumerate(found)}
    known = {index for index, finding in enumerate(found) if accepted(finding)}
    settled = {index for index in parents if index in known or _root(index, parents) in known}
    for index, finding in enumerate(found):
        by_promise = finding.code in PROMISED and not _accounted_for(finding, found, settled)
        if settled and (finding.code in LIMITS or by_promise):
            parents[index] = _cause(finding, found, settled)
    roots = {index: _root(index, parents) for index in parents}
    return [
        finding if roots[index] == index else replace(finding, caused_by=found[roots[index]].fingerprint)
        for index, finding in enumerate(found)
    ]


def _cause(finding: Finding, found: list[Finding], settled: Set[int] = frozenset()) -> int | None:
    """The index of the finding that explains this one: by rank of its code, a shared place or subject first.

    Those at `settled` explain nothing.
    """
    for code in ANOTHER_PROGRAM:
        if finding.code == code:
            return None
        for index, other in enumerate(found):
            if other.code == code:
                return index
    for code in SAME_LINE.get(finding.code, ()):
        for index, other in enumerate(found):
            if other.code == code and _same_line(finding, other):
                return index
    for code in CAUSES.get(finding.code, ()):
        candidates = [
            index
            for index, other in enumerate(found)
            if other.code == code
            and other is not finding
            and index not in settled
            and (code not in OWN_GROUP or _concerns(finding, other))
        ]
        if candidates:
            return min(candidates, key=lambda index: not _related(finding, found[index]))
    for explained in (_asked_for(finding, found), _left_to_sum(finding, found, settled)):
        if explained is not None:
            return explained
    return _sibling(finding, found)


def _concerns(finding: Finding, other: Finding) -> bool:
    """Whether a collective explains the other: what is no collective itself may follow from any."""
    return finding.code not in COLLECTIVE or _same_group(finding, other) or _same_line(finding, other)


def _accounted_for(finding: Finding, found: list[Finding], settled: Set[int]) -> bool:
    """Whether accepted repetitions of the same kind and axes are all that the promise is exceeded by."""
    again = [found[i] for i in settled if found[i].code in OWN_GROUP and _same_group(finding, found[i])]
    made_up = tuple(sum(int(other.details.get(what, 0)) for other in again) for what in ("executions", "elements"))
    beyond = tuple(finding.details.get(f"{what}_beyond") for what in ("executions", "elements"))
    return bool(again) and made_up == beyond


def _related(finding: Finding, other: Finding) -> bool:
    return _same_line(finding, other) or finding.subject == other.subject


def _same_line(finding: Finding, other: Finding) -> bool:
    here, there = finding.location, other.location
    return here is not None and there is not None and (here.path, here.line) == (there.path, there.line)


def _asked_for(finding: Finding, found: list[Finding]) -> int | None:
    """A placement the user wrote explains what the partitioner moves elsewhere, over the same axes, because of it."""
    if finding.code != "SHD204" or finding.details.get("asked"):
        return None
    for index, other in enumerate(found):
        if other.code == "SHD204" and other.details.get("asked") and _same_group(finding, other):
            return index
    return None


def _left_to_sum(finding: Finding, found: list[Finding], settled: Set[int] = frozenset()) -> int | None:
    """A move over one part of the promised axes explains a sum over another: where all have the same rows, there is
    nothing left to sum."""
    own = finding.details.get("axes", ())
    if finding.details.get("kind") not in SUMS:
        return None
    if finding.code == "SHD207":
        promised = [finding.details.get("promised_axes", ())]
    elif finding.code == "SHD204":
        kind = finding.details["kind"]
        absent = (other for other in found if other.code in ("SHD205", "SHD206"))
        promised = [other.details.get("axes", ()) for other in absent if other.details.get("kind") == kind]
    else:
        return None
    for index, other in enumerate(found):
        moves = other.code == "SHD204" and other.details.get("kind") in MOVES and index not in settled
        if moves and any(is_rest(whole, own, other.details.get("axes", ())) for whole in promised):
            return index
    return None


def _same_group(finding: Finding, other: Finding) -> bool:
    return all(finding.details.get(field) == other.details.get(field) for field in ("kind", "axes"))


def _sibling(finding: Finding, found: list[Finding]) -> int | None:
    """Collectives of other kinds or axes at the same source line follow from the largest one there."""
    if finding.code not in COLLECTIVE or finding.location is None:
        return None
    at_line = [
        (-int(other.details.get("ring_bytes", 0)), index)
        for index, other in enumerate(found)
        if other.code == finding.code and _same_line(finding, other) and _left_to_sum(other, found) is None
    ]
    first = min(at_line, default=(0, None))[1]
    return None if first is None or found[first] is finding else first


def _root(index: int, parents: dict[int, int | None]) -> int:
    seen = {index}
    while (parent := parents[index]) is not None and parent not in seen:
        index = parent
        seen.add(index)
    return index
