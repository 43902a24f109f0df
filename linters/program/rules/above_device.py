"""The program needs more memory than a device of the target has.

## What it does
Adds arguments, outputs that alias no argument, packed temporaries and code, and compares the sum with the published
memory of the target's device. For CUDA this is the only word on it: that compiler never refuses a program for its size.

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
        f"a device of {evidence.target} has {format_bytes(capacity)}",
        subject="device",
        location=evidence.place("memory.hbm"),
        confidence=confidence(evidence),
        expected=f"at most {capacity:,} bytes",
        found=f"{ledger.need_bytes:,} bytes",
        evidence=(*by_source(ledger), f"the device's memory is published at {name.kind.source}"),
        help=advice(ledger),
    )


RULE = Rule(
    code="MEM207", name="hbm-above-device-memory", severity="error", evidence="program", doc=__doc__ or "", check=check
)
