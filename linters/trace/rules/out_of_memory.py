"""The compiler refuses the program, because it does not fit a device.

## What it does
Reports an out-of-memory error of the compiler with the bytes that are needed and those that are there, and the buffers
live at the peak by source line, from what the compiler left behind when it gave up.

## Why is this bad?
The step cannot run on this target at all.

## Example
```python
# every layer's activations are saved for the backward pass
jax.lax.scan(layer, x, params)
```

## Use instead
```python
jax.lax.scan(jax.checkpoint(layer), x, params)
```

## References
- https://openxla.org/xla/oom_debugging
- https://openxla.org/xla/errors/error_1000
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ....contracts.model import format_bytes
from ....hlo_tools.memory import MemoryLedger
from ....hlo_tools.messages import OutOfMemory
from ...cut import LARGEST, shown
from ...evidence import StepEvidence, frame_location
from ...program.buffers import advice, by_source, first_place, largest_class
from ...program.limits import OUT_OF_MEMORY, available_bytes, confidence, left_to_full, refusal, refused
from ...rule import Rule

_ADVICE = "use more microbatches, rematerialise more, or shard further"


def check(evidence: StepEvidence) -> Iterable[Finding]:
    error = evidence.facts.error
    if error is None or not refused(evidence):
        return
    said, ledger = refusal(evidence), evidence.memory
    available = available_bytes(evidence)
    needed = ledger.need_bytes if ledger is not None else said.needed_bytes if said is not None else None
    place = (first_place(ledger) if ledger else None) or frame_location(error.frames)
    yield RULE.finding(
        f"out of memory at compile time: {_sentence(evidence.target, needed, available)}",
        subject=OUT_OF_MEMORY,
        location=place or evidence.place(evidence.step_key),
        confidence=confidence(evidence, fixed=not left_to_full(evidence)),
        expected=f"at most {available:,} bytes" if available is not None else None,
        found=f"{needed:,} bytes" if needed is not None else error.type,
        evidence=_evidence(ledger, said, error.message),
        help=advice(ledger) if ledger else _ADVICE,
        details={
            "kind": OUT_OF_MEMORY,
            "phase": error.phase,
            "class": (largest_class(ledger) if ledger else None) or "",
        },
    )


def _sentence(target: str, needed: int | None, available: int | None) -> str:
    if needed is None or available is None:
        return f"the program does not fit a device of {target}"
    over = f" ({format_bytes(needed - available)} too much)" if needed > available else ""
    return f"{format_bytes(needed)} are needed, a device of {target} gives {format_bytes(available)}{over}"


def _evidence(ledger: MemoryLedger | None, said: OutOfMemory | None, message: str) -> tuple[str, ...]:
    """What is live at the peak by source line, else the compiler's own list, and its first sentence."""
    first = message.strip().splitlines()[0] if message.strip() else ""
    if ledger is not None:
        return (*by_source(ledger), *_classes(ledger), first)
    listed = said.allocations if said is not None else ()
    sized = ((a, a.size_bytes) for a in listed if a.size_bytes is not None)
    largest = (f"{format_bytes(size)} {a.shape} {a.op_name or a.label}".strip() for a, size in sized)
    return (*shown(largest, most=LARGEST), first)


def _classes(ledger: MemoryLedger) -> tuple[str, ...]:
    return ("at the peak: " + ", ".join(f"{name} {format_bytes(size)}" for name, size in ledger.by_class.items()),)


RULE = Rule(code="MEM206", name="out-of-memory", severity="error", evidence="trace", doc=__doc__ or "", check=check)
