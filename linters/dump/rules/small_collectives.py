"""Small collectives run one by one where one could carry them all.

## What it does
Finds, in the schedule of an optimised program, runs of collectives of one kind, type and group of devices, each below
128 KiB and together below 1 MiB, of which none needs the result of another and none of the results is needed before
the last has its operand.

## Why is this bad?
A small collective costs its latency, some microseconds on every link of its way, whatever it carries. XLA's combiners
join most; what stands between two of them (a layout, a token, a threshold, a channel of its own) keeps the rest apart.

## Example
```python
loss, count, norm = lax.psum(loss, "data"), lax.psum(count, "data"), lax.psum(norm, "data")
```

## Use instead
```python
loss, count, norm = lax.psum(jnp.stack([loss, count, norm]), "data")
```

## What stays clean
One that is combined already, a few large ones, those that wait for each other, and programs before optimisation. Of
gathers it is only likely that one could carry them: sharded weights are gathered layer by layer to save memory.

## References
- https://github.com/openxla/xla/issues/40135
- https://github.com/openxla/xla/blob/main/xla/service/all_reduce_combiner.h
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.collectives import Collective
from ....hlo_tools.instruction import Instruction
from ...cut import shown
from ...rule import Rule
from ..evidence import DumpEvidence
from ..wording import alike, details, line_of, names, over, place_of, subject_of, together

SMALL = 128 << 10
LARGE = 1 << 20
"""Bytes up to which they are joined: beyond it latency is nothing, and what is gathered early takes memory."""
LEAST = 3
"""Collectives that are worth a word when they could be one."""
MANY = 100
"""Executions saved in a step from which on it is a warning."""
_PASSED_ON = frozenset(("get-tuple-element", "bitcast"))
_MAX_STEPS = 64


@dataclass(slots=True)
class _Run:
    rows: list[Collective] = field(default_factory=list)
    first_use: int = 0
    bytes: int = 0


def check(evidence: DumpEvidence) -> Iterable[Finding]:
    if not evidence.is_final:
        return
    for found in together(_runs(evidence), lambda run: alike(run[0])):
        rows = [row for run in found for row in run]
        saved = sum((len(run) - 1) * run[0].count for run in found)
        size = sum(_bytes(row) for row in rows)
        yield RULE.finding(
            f"{len(rows):,} x {over(rows[0])} ({names(rows)}), {format_bytes(size)} together, could be "
            f"{len(found):,}: {saved:,} fewer collectives a step",
            subject=subject_of(rows[0]),
            severity="warning" if saved >= MANY and evidence.backend != "cpu" else "info",
            location=place_of(rows[0]),
            instruction=rows[0].name,
            expected=f"{len(found):,}",
            found=f"{len(rows):,}",
            evidence=shown(f"%{row.name}: {row.count:,} x {_size(row)}, {line_of(row)}" for row in rows),
            confidence="likely" if rows[0].kind == "all-gather" else "certain",
            help=_help(rows[0].kind, len(rows)),
            details=details(rows) | {"saved": saved},
        )


def _help(kind: str, count: int) -> str:
    joined = "join the values (`jnp.stack`, `jnp.concatenate`)"
    if kind == "all-gather":
        return (
            f"{joined} before they are gathered, unless they are weights of layers that are gathered one by one to "
            f"save memory: joined, all {count:,} are whole at once"
        )
    return f"{joined} or give `lax.psum` all of them as one tuple" if kind == "all-reduce" else joined


def _bytes(row: Collective) -> int:
    """What one execution sends of its own."""
    return row.operand_bytes // row.count


def _size(row: Collective) -> str:
    return f"{format_bytes(_bytes(row))} {row.dtype}"


def _runs(evidence: DumpEvidence) -> Iterator[list[Collective]]:
    """Rows that could be one, in program order."""
    open_runs: dict[Hashable, _Run] = {}
    for row in sorted(evidence.rows, key=lambda row: (row.computation, _index(row))):
        made = row.instruction
        if made is None or row.kind in ("send-recv", "collective-permute") or _bytes(row) > SMALL:
            continue
        if evidence.flow.at(made).around:
            continue
        key = (row.computation, row.kind, row.dtype, row.groups, made.attributes.get("dimensions"), _applied(made))
        run = open_runs.setdefault(key, _Run())
        full = run.rows and run.bytes + _bytes(row) > LARGE
        if run.rows and (full or made.index >= run.first_use):
            if len(run.rows) >= LEAST:
                yield run.rows
            run = open_runs[key] = _Run()
        use = _first_use(made)
        run.first_use = min(run.first_use, use) if run.rows else use
        run.rows.append(row)
        run.bytes += _bytes(row)
    yield from (run.rows for run in open_runs.values() if len(run.rows) >= LEAST)


def _index(row: Collective) -> int:
    return row.instruction.index if row.instruction else 0


def _applied(made: Instruction) -> str:
    """What a reduction applies: an addition is one whatever its computation is called."""
    return made.called[0].root.opcode if made.called else ""


def _first_use(made: Instruction) -> int:
    """The place in the schedule where a result is first needed."""
    pending, first = [made], 1 << 62
    for _ in range(_MAX_STEPS):
        if not pending:
            return first
        value = pending.pop()
        for user in value.users:
            if user.opcode in _PASSED_ON or user.opcode.endswith("-done"):
                pending.append(user)
            else:
                first = min(first, user.index)
    return made.index


RULE = Rule(code="SHD506", name="small-collectives", severity="info", evidence="dump", doc=__doc__ or "", check=check)
