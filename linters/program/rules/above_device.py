"""The program needs more memory than a device of the target has.

## What it does
Adds arguments, outputs that alias no argument, packed temporaries and code, and compares the sum with what a device of
the target gives a program: as its compiler says (TPU), else the published memory. For CUDA this is the only word on
it: that compiler never refuses a program for its size.

## Why is this bad?
The step compiles and fails at its first execution, after hours in a queue.

## Example
A step that needs 96 GiB, compiled for `cuda:h100:1x8`, whose cards have 80 GiB.

## Use instead
Rematerialise more, split the batch into more microbatches, or shard what the evidence lists first.

## References
- https://docs.jax.dev/en/latest/gpu_memory_allocation.html
- https://github.com/jax-ml/jax/issues/31292
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...capacity import capacity_text
from ...evidence import StepEvidence
from ...rule import Rule
from ..buffers import advice, by_source
from ..limits import confidence, device_bytes, target_name


def check(evidence: StepEvidence) -> Iterable[Finding]:
    ledger, capacity, name = evidence.memory, device_bytes(evidence), target_name(evidence)
    if ledger is None or capacity is None or name is None or ledger.need_bytes <= capacity:
        return
    yield RULE.finding(
        f"the program needs {format_bytes(ledger.need_bytes)} per device, "
        f"a device of {evidence.target} gives a program {format_bytes(capacity)}",
        subject="device",
        location=evidence.place("memory.hbm"),
        confidence=confidence(evidence, fixed=ledger.standing_bytes > capacity),
        expected=f"at most {capacity:,} bytes",
        found=f"{ledger.need_bytes:,} bytes",
        evidence=(*by_source(ledger), capacity_text(name.kind)),
        help=advice(ledger),
    )


RULE = Rule(
    code="MEM207", name="hbm-above-device-memory", severity="error", evidence="program", doc=__doc__ or "", check=check
)
