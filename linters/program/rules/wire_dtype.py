"""A collective travels in another dtype than promised.

## What it does
Compares, for each kind and set of mesh axes whose executions and elements are as promised, the dtypes on the wire with
those of the promise: of the closed form (`dtypes` says which role has which), or of `collectives.expect[].dtype`. The
partitioned program is looked at: some backends widen sums later by themselves.

## Why is this bad?
A cast that moves to the other side of a gather doubles the bytes of every layer. Executions and elements stay the
same, and so does the result.

## Example
```python
w = reshard(w, P()).astype(bfloat16)         # float32 travels
```

## Use instead
```python
w = reshard(w.astype(bfloat16), P())
```

## References
- https://jax-ml.github.io/scaling-book/sharding/
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding
from ....contracts.manifest import Frame
from ....contracts.model import as_axes
from ....contracts.plan import without_allowed
from ....contracts.plan.collectives.rows import hlo_dtype
from ....hlo_tools.collectives import Collective
from ....hlo_tools.shape import BITS
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..match import Group, differences, row_axes
from ..wording import axes_text, cost_text, frame_apart, name_at, place_at

Promised = tuple[str, tuple[tuple[str, int, int], ...]]
"""Contract key, and (dtype, executions, elements) of every array of one group."""


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, ledger = evidence.contract.collectives, evidence.partitioned
    if section is None or ledger is None:
        return
    promised = dict(_promised(evidence))
    if not promised:
        return
    differing = {(each.kind, each.axes) for each in differences(evidence) if each.problem != "bytes"}
    found: dict[Group, list[Collective]] = defaultdict(list)
    for row in without_allowed(ledger.dearest_path(), section.allow).kept:
        found[row.kind, row_axes(row)].append(row)
    for group, rows in found.items():
        if group in promised and group not in differing:
            yield from _compare(evidence, rows, promised[group])


def _promised(evidence: StepEvidence) -> Iterator[tuple[Group, Promised]]:
    section, plan = evidence.contract.collectives, evidence.collective_plan
    if section is None:
        return
    if section.expect != "closed_form":
        order = list(evidence.mesh.axes) if evidence.mesh is not None else []
        for index, entry in enumerate(section.expect):
            if entry.dtype is not None:
                axes = tuple(axis for axis in order if axis in as_axes(entry.axes))
                yield (entry.kind, axes), (f"collectives.expect[{index}].dtype", ((hlo_dtype(entry.dtype), 0, 0),))
    elif not isinstance(plan, ContractLintError):
        terms: dict[Group, list[tuple[str, int, int]]] = defaultdict(list)
        for row in without_allowed(plan.rows, section.allow).kept:
            terms[row.kind, row.axes].append((row.dtype, row.count, row.elements))
        yield from ((group, ("collectives.expect", tuple(each))) for group, each in terms.items())


def _compare(evidence: StepEvidence, rows: list[Collective], promised: Promised) -> Iterable[Finding]:
    key, terms = promised
    wrong = list(_wrong(rows, terms))
    rest = [row for row in rows if row not in wrong]
    lines: dict[tuple[str, int, str], list[tuple[Collective, Frame | None]]] = defaultdict(list)
    for row in wrong:
        frame = frame_apart([row], rest)
        path, line = (frame.path, frame.line) if frame else (row.name, 0)
        lines[path, line, row.dtype].append((row, frame))
    for (_, _, dtype), placed in lines.items():
        found, frame = [row for row, _ in placed], placed[0][1]
        first = found[0]
        names = _promised_dtypes(first, terms)
        yield RULE.finding(
            f"{first.kind} over {axes_text(row_axes(first))} travels in {dtype}, promised in {' and '.join(names)}: "
            f"{cost_text(found)}",
            subject=f"{first.kind}:{','.join(row_axes(first))}:{name_at(frame, first)}:{dtype}",
            location=place_at(frame) or evidence.place(key),
            key=key,
            instruction=first.name,
            expected=" and ".join(names),
            found=dtype,
            evidence=shown(f"{row.name}: {row.dtype}, {cost_text([row])}, at {row.source}" for row in found),
            help="cast before the data move, not after; or correct the promised dtype",
            details={"kind": first.kind, "axes": list(row_axes(first)), "ring_bytes": sum(r.ring_bytes for r in found)},
        )


def _promised_dtypes(row: Collective, terms: tuple[tuple[str, int, int], ...]) -> list[str]:
    """The dtypes promised for arrays of a row's size; those of the whole group where no size fits. Narrowest first."""
    sized = {dtype for dtype, count, elements in terms if elements * row.count == row.elements * count}
    return sorted(sized - {row.dtype} or {dtype for dtype, _, _ in terms}, key=lambda name: BITS.get(name, 0))


def _wrong(rows: list[Collective], terms: tuple[tuple[str, int, int], ...]) -> Iterator[Collective]:
    """The rows of whose size and dtype fewer executions are promised."""
    names = {dtype for dtype, _, _ in terms}
    if len(names) == 1:
        yield from (row for row in rows if row.dtype not in names)
        return
    left: Counter[tuple[str, int]] = Counter()
    for name, count, elements in terms:
        left[name, elements // count if count else 0] += count
    for row in rows:
        each = (row.dtype, row.elements // row.count if row.count else 0)
        if left[each] >= row.count:
            left[each] -= row.count
        else:
            yield row


RULE = Rule(
    code="NUM203",
    name="wire-dtype",
    severity="error",
    evidence="program",
    doc=__doc__ or "",
    check=check,
    compiled=False,
)
