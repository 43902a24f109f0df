"""Promised collectives against those of the program: which rows are too many, too few, or elsewhere.

The comparison is exact: for each kind and set of mesh axes, executions and elements of one step must agree
with tolerance 0. Where they do not, the rows at fault are singled out so that a finding can name a line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

from ...contracts.errors import ContractLintError
from ...contracts.model import AllowedCollective, as_axes
from ...contracts.plan import PlannedCollective, without_allowed
from ...hlo_tools.collectives import Collective, Total
from ...hlo_tools.shape import BITS
from ...hlo_tools.transfers import nearest
from ..evidence import StepEvidence
from .allowances import misfitting, nearly_allows

Group = tuple[str, tuple[str, ...]]
Problem = Literal["unplanned", "missing", "size", "bytes", "moved", "not allowed"]
"""bytes: as many executions and elements as promised, which send other bytes."""

MAX_LINES_TO_COMBINE = 24


@dataclass(frozen=True, slots=True)
class Promise:
    """All collectives of one kind over one set of axes that a step may run."""

    count: int
    elements: int | None
    key: str
    terms: tuple[tuple[int, int], ...] = ()
    ring_bytes: int | None = None
    explanation: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Where program and promise part. `rows` are the program's rows at fault; empty when something is missing, unless
    something of another kind stands in its place. `allowance` is the entry of `collectives.allow` that nearly fits."""

    problem: Problem
    kind: str
    axes: tuple[str, ...]
    promised: Promise | None
    count: int
    elements: int
    rows: tuple[Collective, ...]
    sent: int | None = None
    """Bytes that all of its kind and axes send, where only these are not as promised."""
    moved_from: tuple[str, ...] | None = None
    allowance: int | None = None

    @property
    def beyond(self) -> dict[str, int]:
        """Executions and elements beyond the promise, negative where there are fewer."""
        count, elements = (self.promised.count, self.promised.elements) if self.promised is not None else (0, 0)
        return {
            "executions_beyond": self.count - count,
            "elements_beyond": 0 if elements is None else self.elements - elements,
        }


def promises(evidence: StepEvidence) -> dict[Group, Promise] | None:
    """What the contract promises for each kind and axes; None where it promises nothing or nothing can be derived."""
    section = evidence.contract.collectives
    if section is None:
        return None
    if section.expect == "closed_form":
        return _closed_form(evidence)
    order = list(evidence.mesh.axes) if evidence.mesh is not None else []
    return {
        (row.kind, _ordered(as_axes(row.axes), order)): Promise(
            row.count, row.elements, f"collectives.expect[{index}]", ring_bytes=row.ring_bytes
        )
        for index, row in enumerate(section.expect)
    }


def _closed_form(evidence: StepEvidence) -> dict[Group, Promise] | None:
    plan, section = evidence.collective_plan, evidence.contract.collectives
    if isinstance(plan, ContractLintError) or section is None:
        return None
    grouped: dict[Group, list[PlannedCollective]] = defaultdict(list)
    for row in without_allowed(plan.rows, section.allow).kept:
        grouped[row.kind, row.axes].append(row)
    return {
        group: Promise(
            count=sum(row.count for row in rows),
            elements=sum(row.elements for row in rows),
            key="collectives.expect",
            terms=tuple((row.count, row.elements) for row in rows),
            explanation=tuple(f"{row.what}, {row.term}: {row.formula} = {row.elements:,}" for row in rows),
        )
        for group, rows in grouped.items()
    }


def differences(evidence: StepEvidence) -> list[Difference]:
    """Every group of collectives that is not as promised, in program order."""
    expected = promises(evidence)
    ledger, section = evidence.partitioned, evidence.contract.collectives
    if expected is None or ledger is None or section is None:
        return []
    # A promise is a sum, and of a conditional a step takes one branch; what no promise names is unplanned in any.
    found = _grouped(without_allowed(ledger.rows, section.allow).kept)
    taken = _grouped(without_allowed(ledger.dearest_path(), section.allow).kept)
    groups = dict.fromkeys([*found, *expected])
    changed = [
        _compare(group, expected.get(group), (taken if group in expected else found).get(group, [])) for group in groups
    ]
    paired = _pair_moved([difference for difference in changed if difference is not None])
    misfits = misfitting(section.allow, ledger.rows)
    return [_nearly_allowed(difference, misfits) for difference in paired]


def _grouped(rows: Iterable[Collective]) -> dict[Group, list[Collective]]:
    found: dict[Group, list[Collective]] = defaultdict(list)
    for row in rows:
        found[row.kind, row_axes(row)].append(row)
    return found


def _nearly_allowed(difference: Difference, misfits: dict[int, AllowedCollective]) -> Difference:
    """Unplanned rows that an otherwise useless allowance misses by one word are that allowance's fault."""
    if difference.problem != "unplanned" or not difference.rows:
        return difference
    for index, entry in misfits.items():
        if all(nearly_allows(entry, row) for row in difference.rows):
            return replace(difference, problem="not allowed", allowance=index)
    return difference


def same_kind(evidence: StepEvidence, difference: Difference) -> list[Collective]:
    """The program's other collectives of the kind: those that are not at fault."""
    ledger = evidence.partitioned
    rows = ledger.rows if ledger is not None else []
    at_fault = {(row.computation, row.name) for row in difference.rows}
    return [row for row in rows if row.kind == difference.kind and (row.computation, row.name) not in at_fault]


def is_asked_for(evidence: StepEvidence, row: Collective) -> bool:
    """Whether the row comes from a reshard, sharding constraint or collective that the user wrote at its very line."""
    jaxpr = evidence.facts.jaxpr
    written = {(use.frames[0].path, use.frames[0].line) for use in jaxpr.axis_uses if use.frames} if jaxpr else set()
    return any((frame.path, frame.line) in written for frame in row.frames[:1])


def row_axes(row: Collective | Total) -> tuple[str, ...]:
    """The mesh axes of a ledger row; irregular or unnamed groups stand under a name of their own."""
    if row.axes is None:
        return ("unknown",)
    return (row.axes,) if isinstance(row.axes, str) else tuple(row.axes)


def agrees(promise: Promise, rows: Iterable[Collective]) -> bool:
    """Whether the rows that no allowance takes are what was promised for their kind and axes."""
    rows = list(rows)
    return _as_many(promise, rows) and promise.ring_bytes in (None, _sent(rows))


def _as_many(promise: Promise, rows: list[Collective]) -> bool:
    same_count = sum(row.count for row in rows) == promise.count
    return same_count and (promise.elements is None or sum(row.elements for row in rows) == promise.elements)


def _sent(rows: Iterable[Collective]) -> int:
    """Bytes that one device sends for these rows in a step."""
    return nearest(
        sum((Fraction(row.ring_bytes) if row.ring_exact is None else row.ring_exact for row in rows), Fraction())
    )


def _compare(group: Group, promise: Promise | None, rows: list[Collective]) -> Difference | None:
    count = sum(row.count for row in rows)
    elements = sum(row.elements for row in rows)
    kind, axes = group
    if promise is None:
        return Difference("unplanned", kind, axes, None, count, elements, tuple(rows)) if rows else None
    if agrees(promise, rows):
        return None
    if rows and _as_many(promise, rows):
        return Difference("bytes", kind, axes, promise, count, elements, tuple(_widest(rows)), _sent(rows))
    if not rows:
        return Difference("missing", kind, axes, promise, 0, 0, ())
    more = count - promise.count
    larger = elements - promise.elements if promise.elements is not None else more
    culprits = tuple(_culprits(promise, rows, more, larger))
    if not promise.terms and len(culprits) == len(rows) > 1:
        # No line stands out, so no line is to blame: the promise as a whole does not fit.
        return Difference("size", kind, axes, promise, count, elements, culprits)
    if more >= 0 and larger >= 0 and more + larger > 0 and more > 0:
        return Difference("unplanned", kind, axes, promise, count, elements, culprits)
    if more <= 0 and larger <= 0 and more < 0:
        return Difference("missing", kind, axes, promise, count, elements, ())
    return Difference("size", kind, axes, promise, count, elements, culprits)


def _widest(rows: list[Collective]) -> list[Collective]:
    """The rows of floats that are wider than others; all rows where no width stands out."""
    bits = [BITS.get(row.dtype, 0) if row.dtype.startswith(("f", "bf")) else 0 for row in rows]
    wide = [row for row, width in zip(rows, bits, strict=True) if width == max(bits)]
    return wide if len({width for width in bits if width}) > 1 else rows


def _culprits(promise: Promise, rows: list[Collective], more: int, larger: int) -> list[Collective]:
    """The rows that make up the excess: single source lines first, then pairs of lines, then what no term explains."""
    by_line: dict[str, list[Collective]] = defaultdict(list)
    for row in rows:
        by_line[row.source or row.name].append(row)
    singles = [[row] for row in rows]
    lines = list(by_line.values())[:MAX_LINES_TO_COMBINE]
    pairs = [a + b for a, b in combinations(lines, 2)]
    for candidate in [*singles, *lines, *pairs]:
        if (sum(r.count for r in candidate), sum(r.elements for r in candidate)) == (more, larger):
            return candidate
    left = list(promise.terms)
    unexplained = []
    for row in rows:
        if (row.count, row.elements) in left:
            left.remove((row.count, row.elements))
        else:
            unexplained.append(row)
    return unexplained or rows


def _pair_moved(changed: list[Difference]) -> list[Difference]:
    """A missing collective and an unplanned one of the same size are one: of the same kind it runs over another axis,
    over the same axes it is of another kind."""
    absent = {id(d): d for d in changed if d.problem == "missing" and d.count == 0}
    result: list[Difference] = []
    for difference in changed:
        origin = next((a for a in absent.values() if _is_moved(difference, a)), None)
        if origin is not None:
            del absent[id(origin)]
            if difference.kind == origin.kind:
                difference = replace(difference, problem="moved", promised=origin.promised, moved_from=origin.axes)
            else:
                difference = replace(origin, rows=difference.rows)
        result.append(difference)
    kept = {id(d) for d in absent.values()}
    return [d for d in result if d.problem != "missing" or d.count > 0 or d.rows or id(d) in kept]


def _is_moved(difference: Difference, absent: Difference) -> bool:
    promise = absent.promised
    if difference.problem != "unplanned" or difference.promised is not None or promise is None:
        return False
    same_size = promise.count == difference.count and promise.elements in (None, difference.elements)
    return same_size and (difference.kind == absent.kind or difference.axes == absent.axes)


def _ordered(axes: tuple[str, ...], order: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(axes, key=lambda axis: order.index(axis) if axis in order else len(order)))
