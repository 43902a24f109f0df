"""The bytes a program takes beside those it may: the contract's budgets and the device's own memory.

On TPU a fast compile is a lower bound. Measured with jax 0.10.2 and libtpu 0.0.42.1, the peak at full effort was 1.34
times that at O1 for FSDP, 1.15 for ZeRO-2, 1.10 for ZeRO-1 and 1.02 for tensor parallelism: a fast figure proves that a
budget holds only where there is room for `FULL_OVER_FAST` times as much. A program whose matrix products XLA turns to
bfloat16 only at full effort took less there (12.6 against 14.2 GiB): a fast figure does not prove the opposite either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...contracts.finding import Confidence
from ...contracts.target_name import TargetName, parse_target
from ...hlo_tools.messages import OutOfMemory, out_of_memory
from ..evidence import StepEvidence

OUT_OF_MEMORY = "out-of-memory"
"""The kind of a step's error where the compiler refused the program for its size."""
FULL_OVER_FAST = 1.4
"""What a fast figure is multiplied with before it may pass; the largest measured ratio is 1.34."""
FIXED_CLASSES = frozenset(("parameter", "optimizer_slot", "input", "output", "constant"))
"""Classes of buffers that no effort of the compiler makes larger or smaller."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One pair of bytes. `key` is the contract key that sets the limit, None for the device's own memory."""

    what: str
    key: str | None
    used: int
    allowed: int
    fixed: bool = False


def is_lower_bound(evidence: StepEvidence) -> bool:
    """Whether the figures come from a TPU compile at less than full effort."""
    provenance = evidence.capture.manifest.provenance
    return provenance.effort == "fast" and provenance.target.startswith("tpu:")


def confidence(evidence: StepEvidence, fixed: bool = False) -> Confidence:
    """How sure a verdict on memory is."""
    return "likely" if is_lower_bound(evidence) and not fixed else "certain"


def limits(evidence: StepEvidence) -> Iterator[Limit]:
    """Every limit the step's memory is held to, contract first; the device's own where no budget is stricter."""
    section, ledger = evidence.contract.memory, evidence.memory
    if ledger is None:
        return
    if section is not None and section.hbm is not None:
        yield Limit("the program", "memory.hbm", ledger.need_bytes, section.hbm)
    for name, allowed in section.classes.items() if section is not None else ():
        used = ledger.by_class.get(name, 0)
        yield Limit(f"{name} buffers", f"memory.classes.{name}", used, allowed, name in FIXED_CLASSES)
    capacity = available_bytes(evidence)
    budget = section.hbm if section is not None else None
    if capacity is not None and (budget is None or budget > capacity):
        yield Limit("the program", None, ledger.need_bytes, capacity)


def open_limits(evidence: StepEvidence) -> list[Limit]:
    """Limits that a fast compile comes so near that only a full one can say on which side of them the step is."""
    if not is_lower_bound(evidence):
        return []
    return [
        limit
        for limit in limits(evidence)
        if not limit.fixed
        and limit.used < limit.allowed * FULL_OVER_FAST
        and limit.allowed < limit.used * FULL_OVER_FAST
    ]


def unproven(evidence: StepEvidence) -> list[Limit]:
    """Limits that a fast compile keeps, but by less than a full one may take away."""
    kept = evidence.facts.error is None
    return [limit for limit in open_limits(evidence) if kept and limit.used <= limit.allowed]


def refusal(evidence: StepEvidence) -> OutOfMemory | None:
    """What the compiler said when it refused the step for its size; None where it did not, or in unknown words."""
    error = evidence.facts.error
    if error is None or error.kind != OUT_OF_MEMORY:
        return None
    # File descriptor 2 has the longer report where the exception has the short one.
    return out_of_memory(evidence.step.stderr or "") or out_of_memory(error.message)


def available_bytes(evidence: StepEvidence) -> int | None:
    """What a device gives a program: as the compiler says where it refused one, else the published memory."""
    said = refusal(evidence)
    return said.available_bytes if said is not None else device_bytes(evidence)


def device_bytes(evidence: StepEvidence) -> int | None:
    """The memory of one device of the target, as published; None where the kind has no fixed size."""
    name = target_name(evidence)
    return None if name is None else name.kind.hbm_bytes


def target_name(evidence: StepEvidence) -> TargetName | None:
    """The target's name in parts; None for one of a later version."""
    try:
        return parse_target(evidence.target)
    except ValueError:
        return None
