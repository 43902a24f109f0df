"""One class of buffers takes more memory than the contract allows it.

## What it does
Compares the bytes of each class at the live peak (parameter, optimizer_slot, activation_saved, ...) with
`memory.classes`.

## Why is this bad?
A budget for the whole hides a shift inside it: optimizer state that doubled while activations shrank still fits today
and leaves no room tomorrow.

## Example
```yaml
# the program holds 2.4 GiB of slots
memory: { classes: { optimizer_slot: 1.2GiB } }
```

## Use instead
Shard or shrink the class that grew, or raise its budget.

## References
- https://arxiv.org/abs/1910.02054
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ...cut import LARGEST, shown
from ...evidence import StepEvidence
from ...rule import Rule
from ..limits import FIXED_CLASSES, confidence


def check(evidence: StepEvidence) -> Iterable[Finding]:
    section, ledger = evidence.contract.memory, evidence.memory
    if section is None or ledger is None:
        return
    for name, budget in section.classes.items():
        used = ledger.by_class.get(name, 0)
        if used <= budget:
            continue
        key = f"memory.classes.{name}"
        yield RULE.finding(
            f"{name.replace('_', ' ')} buffers take {format_bytes(used)} at the peak, "
            f"the budget is {format_bytes(budget)}",
            subject=name,
            location=evidence.place(key),
            key=key,
            confidence=confidence(evidence, fixed=name in FIXED_CLASSES),
            expected=f"at most {budget:,} bytes",
            found=f"{used:,} bytes",
            evidence=shown(
                (
                    f"{format_bytes(b.bytes)} {b.name} {b.shape} at {b.source or 'no source line'}"
                    for b in ledger.buffers
                    if b.class_ == name
                ),
                most=LARGEST,
            ),
            help="shrink this class, or raise its budget",
            details={"class": name},
        )


RULE = Rule(
    code="MEM203", name="memory-class-over-budget", severity="error", evidence="program", doc=__doc__ or "", check=check
)
