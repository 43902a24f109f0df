"""One root finding per cause: which findings follow from which.

A tensor that lies elsewhere than promised also changes the state bytes, the collectives and the peak. All of it is
reported, but only the first is the thing to mend: consequences carry the root's fingerprint in `caused_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from functools import cached_property

from ...contracts.axis_part import is_rest
from ...contracts.finding import Finding
from .ties import Group, Line, Ties, axes_of, group_of, line_of

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
    that accepted repetitions make up exactly. Look-ups alone: linear in the findings, for a given number of axes.
    """
    found = list(findings)
    causes = _Causes(found)
    parents = [causes.of(finding) for finding in found]
    known = {index for index, finding in enumerate(found) if accepted(finding)}
    settled = {index for index in range(len(found)) if index in known or _root(index, parents) in known}
    if settled:
        added = _added(found[index] for index in settled)
        anew = {i for i, finding in enumerate(found) if i not in known and _stands_for_itself(finding, added)}
        causes = _Causes(found, silent=settled - anew)
        for index in anew:
            parents[index] = causes.of(found[index])
    roots = [_root(index, parents) for index in range(len(found))]
    return [
        finding if root == index else replace(finding, caused_by=found[root].fingerprint)
        for index, (finding, root) in enumerate(zip(found, roots, strict=True))
    ]


def _added(settled: Iterable[Finding]) -> dict[Group, tuple[int, int]]:
    """Executions and elements that accepted repetitions add, by kind and axes."""
    added: dict[Group, tuple[int, int]] = {}
    for finding in settled:
        if finding.code in OWN_GROUP:
            group, before = group_of(finding), added.get(group_of(finding), (0, 0))
            executions, elements = (int(finding.details.get(what, 0)) for what in ("executions", "elements"))
            added[group] = (before[0] + executions, before[1] + elements)
    return added


def _stands_for_itself(finding: Finding, added: dict[Group, tuple[int, int]]) -> bool:
    """Whether what a team has accepted does not explain a finding: a limit never, a promise where it is not exceeded by
    just what accepted repetitions add."""
    beyond = tuple(finding.details.get(f"{what}_beyond") for what in ("executions", "elements"))
    return finding.code in LIMITS or (finding.code in PROMISED and added.get(group_of(finding)) != beyond)


class _Causes:
    """Which finding explains another; those at `silent` explain none."""

    def __init__(self, found: Sequence[Finding], silent: Set[int] = frozenset()) -> None:
        self._found, self._ties = found, Ties(found, silent)
        self._heard = [(index, finding) for index, finding in enumerate(found) if index not in silent]
        self._left: dict[tuple[str, Group, object], int | None] = {}

    def of(self, finding: Finding) -> int | None:
        """The index of the finding that explains this one: by rank of its code, a shared place or subject first."""
        for code in ANOTHER_PROGRAM:
            if finding.code == code:
                return None
            if (cause := self._ties.any(code)) is not None:
                return cause
        for code in SAME_LINE.get(finding.code, ()):
            if (cause := self._ties.on_line(code, finding)) is not None:
                return cause
        for code in CAUSES.get(finding.code, ()):
            # What is no collective itself may follow from any.
            own = code in OWN_GROUP and finding.code in COLLECTIVE
            cause = self._ties.near_in_group(code, finding) if own else self._ties.near(code, finding)
            if cause is not None:
                return cause
        for cause in (self._asked_for(finding), self._left_to_sum(finding)):
            if cause is not None:
                return cause
        return self._sibling(finding)

    def _asked_for(self, finding: Finding) -> int | None:
        """A placement the user wrote explains what the partitioner moves for it elsewhere, over the same axes."""
        if finding.code != "SHD204" or finding.details.get("asked"):
            return None
        return self._asked.get(group_of(finding))

    def _left_to_sum(self, finding: Finding) -> int | None:
        """A move over one part of the promised axes explains a sum over another: where all have the same rows, there is
        nothing left to sum."""
        if finding.code not in ("SHD204", "SHD207") or finding.details.get("kind") not in SUMS:
            return None
        asked = (finding.code, group_of(finding), axes_of(finding, "promised_axes"))
        if asked not in self._left:
            self._left[asked] = self._move_beside(finding)
        return self._left[asked]

    def _move_beside(self, finding: Finding) -> int | None:
        own = finding.details.get("axes", ())
        if finding.code == "SHD207":
            promised = [finding.details.get("promised_axes", ())]
        else:
            promised = self._absent.get(finding.details["kind"], {}).values()
        beside = (
            index
            for index, other in self._moves.values()
            if any(is_rest(whole, own, other.details.get("axes", ())) for whole in promised)
        )
        return min(beside, default=None)

    def _sibling(self, finding: Finding) -> int | None:
        """Collectives of other kinds or axes at the same source line follow from the largest one there."""
        if finding.code not in COLLECTIVE or (line := line_of(finding)) is None:
            return None
        first = self._largest.get((finding.code, line))
        return None if first is None or self._found[first] is finding else first

    @cached_property
    def _asked(self) -> dict[Group, int]:
        """The first placement that the user wrote, by kind and axes."""
        asked: dict[Group, int] = {}
        for index, other in self._heard:
            if other.code == "SHD204" and other.details.get("asked"):
                asked.setdefault(group_of(other), index)
        return asked

    @cached_property
    def _moves(self) -> dict[object, tuple[int, Finding]]:
        """The first move that nothing promised, by its axes."""
        moves: dict[object, tuple[int, Finding]] = {}
        for index, other in self._heard:
            if other.code == "SHD204" and other.details.get("kind") in MOVES:
                moves.setdefault(axes_of(other), (index, other))
        return moves

    @cached_property
    def _absent(self) -> dict[object, dict[object, tuple[str, ...]]]:
        """Axes of promised collectives that are not there as promised, by kind. Accepted ones were promised too."""
        absent: dict[object, dict[object, tuple[str, ...]]] = {}
        for other in self._found:
            if other.code in ("SHD205", "SHD206"):
                of_kind = absent.setdefault(other.details.get("kind"), {})
                of_kind.setdefault(axes_of(other), other.details.get("axes", ()))
        return absent

    @cached_property
    def _largest(self) -> dict[tuple[str, Line], int]:
        """The collective of most bytes on each line, by code; those that follow from a move are none of them."""
        largest: dict[tuple[str, Line], tuple[int, int]] = {}
        for index, other in self._heard:
            line = line_of(other)
            if other.code in COLLECTIVE and line is not None and self._left_to_sum(other) is None:
                size = (-int(other.details.get("ring_bytes", 0)), index)
                key = (other.code, line)
                largest[key] = min(size, largest.get(key, size))
        return {key: index for key, (_, index) in largest.items()}


def _root(index: int, parents: Sequence[int | None]) -> int:
    seen = {index}
    while (parent := parents[index]) is not None and parent not in seen:
        index = parent
        seen.add(index)
    return index
