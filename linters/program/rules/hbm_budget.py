"""The program needs more device memory than the contract allows.

## What it does
Adds arguments, outputs that alias no argument, packed temporaries and code - what must fit at once - and compares the
sum with `memory.hbm`. The peak of live buffers is given beside it.

## Why is this bad?
A step that does not fit fails at compile time, or at the first step of a run that queued for hours.

## Example
```yaml
memory: { hbm: 16GiB }          # the program needs 17.2 GiB
```

## Use instead
Rematerialise more, split the batch into more microbatches, or shard what the evidence lists first.

## References
- https://docs.jax.dev/en/latest/device_memory_profiling.html
- https://github.com/jax-ml/jax/issues/31292
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...cut import LARGEST, shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..limits import confidence, device_bytes


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, ledger = evidence.contract.memory, evidence.memory
    if section is None or section.hbm is None or ledger is None or ledger.need_bytes <= section.hbm:
        return
    capacity = device_bytes(evidence)
    if capacity is not None and ledger.need_bytes > capacity:
        return  # it does not fit the device at all, which MEM207 says
    yield RULE.finding(
        f"the program needs {format_bytes(ledger.need_bytes)} per device, the budget is {format_bytes(section.hbm)} "
        f"(live peak {format_bytes(ledger.peak_bytes)})",
        subject="hbm",
        location=evidence.place("memory.hbm"),
        key="memory.hbm",
        confidence=confidence(evidence, fixed=ledger.standing_bytes > section.hbm),
        expected=f"at most {section.hbm:,} bytes",
        found=f"{ledger.need_bytes:,} bytes",
        evidence=shown(
            (
                f"{format_bytes(b.bytes)} {b.class_} {b.name} {b.shape} at {b.source or 'no source line'}"
                for b in ledger.buffers
            ),
            most=LARGEST,
        ),
        help="shrink the largest buffers listed here, or raise the budget",
    )


RULE = Rule(code="MEM202", name="hbm-over-budget", severity="error", evidence="program", doc=__doc__ or "", check=check)
