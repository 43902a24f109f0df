"""The bytes of parameters, optimizer slots and counters on one device differ from the closed form.

## What it does
Adds up what the contract's `model`, `mesh`, placements and dtypes say one device holds, and compares it with the
program's arguments: tolerance 0. Where the device stores arrays in tiles, each shape is filled up to whole tiles, as
the program prints them, and the sum compared with the compiler's own buffers: tolerance 0 again.

## Why is this bad?
State memory is exactly predictable. A difference means that something is larger, wider or more replicated than meant,
and it is there for the whole run.

## Example
Moments kept in float32 where the contract says bfloat16: twice the optimizer state.

## Use instead
See the tensors listed in the evidence; correct the placement or dtype, or the contract.

## References
- https://arxiv.org/abs/1910.02054
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ....contracts.errors import ContractLintError
from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...cut import shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..stored import stored_state

STATE = ("parameter", "optimizer_slot")


def check(evidence: StepEvidence) -> Iterable[Finding]:
    plan = evidence.tensor_plan
    if evidence.contract.model is None or isinstance(plan, ContractLintError):
        return
    planned = [row for row in plan.rows if row.role in STATE]
    found = [row for row in evidence.tensors.rows if row.class_ in STATE]
    expected_bytes = sum(row.bytes for row in planned)
    found_bytes = sum(row.bytes or 0 for row in found)
    if expected_bytes == found_bytes:
        yield from _stored(evidence)
        return
    want = Counter((row.role, tuple(row.local_shape), row.dtype) for row in planned)
    have = Counter((row.class_, tuple(row.local_shape or ()), row.dtype) for row in found)
    evidence_lines = [f"promised, absent: {n} x {role} {list(s)} {d}" for (role, s, d), n in (want - have).items()]
    evidence_lines += [
        f"present, not promised: {n} x {role} {list(s)} {d}" for (role, s, d), n in (have - want).items()
    ]
    difference = found_bytes - expected_bytes
    yield RULE.finding(
        f"one device holds {found_bytes:,} bytes of parameters and optimizer state, "
        f"the closed form gives {expected_bytes:,} ({difference:+,})",
        subject="state",
        location=evidence.place("model"),
        key="model",
        expected=f"{expected_bytes:,} bytes ({format_bytes(expected_bytes)})",
        found=f"{found_bytes:,} bytes ({format_bytes(found_bytes)})",
        evidence=shown(evidence_lines),
        help="compare the tensors listed here with the contract's model, dtypes and placements",
    )


def _stored(evidence: StepEvidence) -> Iterable[Finding]:
    """The state as it lies in memory: bytes that neither the shapes nor their tiles explain."""
    stored = stored_state(evidence)
    if stored is None or stored.allocated is None or stored.allocated == stored.tiled:
        return
    yield RULE.finding(
        f"the buffers of the state take {stored.allocated:,} bytes, its shapes in whole tiles {stored.tiled:,} "
        f"({stored.allocated - stored.tiled:+,}; {stored.plain:,} without tiles)",
        subject="stored",
        location=evidence.place("model"),
        key="model",
        expected=f"{stored.tiled:,} bytes",
        found=f"{stored.allocated:,} bytes",
        help="the compiler stores the state in another layout than the program's entry prints",
    )


RULE = Rule(code="MEM201", name="state-bytes", severity="error", evidence="program", doc=__doc__ or "", check=check)
