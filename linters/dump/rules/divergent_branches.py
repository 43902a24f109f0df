"""Devices that have to meet in a collective may take different branches.

## What it does
Finds conditionals of which one branch runs a collective that another does not (or among other devices), and whose
predicate differs between devices that take part in it: it follows from the device's number, or from an argument of
which they hold different parts, and no sum or gather over them stands in between.

## Why is this bad?
A collective ends when all of its devices have come. Those that took the branch wait for those that did not: the step
hangs, without a message, on the first batch where they differ.

## Example
```python
# in shard_map over "data"
lax.cond(jnp.any(jnp.isnan(grads)), lambda g: g * 0, lambda g: lax.psum(g, "data"), grads)
```

## Use instead
```python
bad = lax.psum(jnp.any(jnp.isnan(grads)).astype(jnp.int32), "data")     # the same everywhere
lax.cond(bad > 0, lambda g: g * 0, lambda g: lax.psum(g, "data"), grads)
```

## What stays clean
Branches with the same collectives; a predicate that every device of the group works out alike: a step counter, a
replicated argument, what was summed or gathered over the group, an index along another axis of the mesh.

## References
- https://docs.jax.dev/en/latest/notebooks/shard_map.html
- https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/communicators.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ....hlo_tools.collectives import Collective
from ....hlo_tools.flow import FRAMES
from ....hlo_tools.instruction import Instruction
from ....hlo_tools.module import Computation
from ....hlo_tools.participants import PAIRED
from ....hlo_tools.replica_groups import Groups, united
from ...cut import shown
from ...rule import Rule
from ..evidence import DumpEvidence
from ..varying import Varying
from ..wording import over, place_of_instruction

Meeting = tuple[str, Groups]
"""A kind of collective, and who takes part."""


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    if evidence.ledger is None or evidence.module is None:
        return
    rows: dict[str, list[Collective]] = {}
    for row in evidence.ledger.rows:
        if row.group_size > 1 and row.groups:
            rows.setdefault(row.computation, []).append(row)
    if not rows:
        return
    varying = Varying(evidence.module, evidence.ledger.devices, evidence.flow)
    for conditional in evidence.instructions("conditional"):
        if not evidence.runs.of(conditional.computation).count or not conditional.operands:
            continue
        branches = [_meetings(branch, rows) for branch in conditional.called]
        for meeting in _uneven(branches):
            cause = varying.cause(conditional.operands[0], _met(meeting))
            if cause is not None:
                yield _finding(conditional, meeting, branches, cause, evidence)
                break


def _finding(
    conditional: Instruction,
    meeting: Meeting,
    branches: list[Counter[Meeting]],
    cause: Instruction,
    evidence: DumpEvidence,
) -> Finding:
    having = [callee.name for callee, met in zip(conditional.called, branches, strict=True) if met[meeting]]
    row = next(row for row in (evidence.ledger.rows if evidence.ledger else ()) if (row.kind, row.groups) == meeting)
    runs = evidence.runs.of(conditional.computation).count
    return RULE.finding(
        f"%{conditional.name} runs {over(row)} in {_some(len(having), len(branches))}, and the devices that meet in it "
        f"may take different ones: the step would hang ({runs:,} execution{'s' * (runs != 1)} a step)",
        subject=f"{meeting[0]}:{conditional.op_name}",
        location=place_of_instruction(conditional),
        instruction=conditional.name,
        expected="a predicate that is the same on all devices of the group",
        found=f"one that depends on {_named(cause)}",
        evidence=shown(
            f"%{callee.name}: {_listed(met)}" for callee, met in zip(conditional.called, branches, strict=True)
        ),
        help="sum the predicate over the group first, or run the collective in every branch",
        details={"kind": meeting[0], "cause": cause.name, "branches": having},
    )


def _some(having: int, of: int) -> str:
    return f"{having} of its {of} branches" if having < of else "all of its branches, not equally often"


def _named(cause: Instruction) -> str:
    if cause.opcode == "parameter":
        name = cause.op_name or f"%{cause.name}"
        return f"argument {name}, of which they hold different parts"
    return f"%{cause.name} ({cause.opcode})"


def _listed(met: Counter[Meeting]) -> str:
    counts: Counter[str] = Counter()
    for (kind, _), count in met.items():
        counts[kind] += count
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())) or "no collective"


def _meetings(branch: Computation, rows: dict[str, list[Collective]]) -> Counter[Meeting]:
    """Every collective of a branch and of all that it calls."""
    found: Counter[Meeting] = Counter()
    pending, seen = [branch], {branch.name}
    while pending:
        computation = pending.pop()
        found.update((row.kind, row.groups) for row in rows.get(computation.name, ()))
        for callee in _callees(computation):
            if callee.name not in seen:
                seen.add(callee.name)
                pending.append(callee)
    return found


def _callees(computation: Computation) -> Iterator[Computation]:
    for position, opcode in enumerate(computation.opcodes()):
        if opcode in ("while", "conditional", *FRAMES):
            yield from computation.instruction_at(position).called


def _uneven(branches: list[Counter[Meeting]]) -> list[Meeting]:
    """What one branch runs more often than another."""
    every = dict.fromkeys(meeting for met in branches for meeting in met)
    return [meeting for meeting in every if len({met[meeting] for met in branches}) > 1]


def _met(meeting: Meeting) -> Groups:
    kind, groups = meeting
    return united(groups) if kind in PAIRED else groups


RULE = Rule(
    code="SHD505",
    name="divergent-branches",
    severity="error",
    evidence="dump",
    doc=__doc__ or "",
    check=check,
    confidence="likely",
)
