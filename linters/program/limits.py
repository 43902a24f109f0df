"""The bytes a program takes beside those it may: the contract's budgets and what the device gives a program.

On TPU a fast compile is another program than the one that will run: what lives for the whole step is the same to the
byte, the temporaries are not, and no figure bounds them either way (`benchmarks/effort.py` measures both). Most of what
full effort adds are collectives that it starts early, to overlap them with work: each holds its result until it is
used. So a fast figure breaks a limit for certain only with what lives for the whole step, and keeps one only where
there is room for `ROOM` times as much and for the results of all collectives besides; whatever lies between is decided
by a full compile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...contracts.finding import Confidence
from ...contracts.target_name import TargetName, parse_target
from ...hlo_tools.collectives import collective_instructions
from ...hlo_tools.messages import OutOfMemory, out_of_memory
from ..evidence import StepEvidence

OUT_OF_MEMORY = "out-of-memory"
"""The kind of a step's error where the compiler refused the program for its size."""
ROOM = 3
"""A fast compile alone passes where this many times its figure would fit, and the results of all collectives besides: a
margin over what `benchmarks/effort.py` measures, no bound. Such a pass is `likely`, and every report says that it is by
a fast compile alone."""
FIXED_CLASSES = frozenset(("parameter", "optimizer_slot", "input", "output"))
"""Classes of buffers that live for the whole step: no effort of the compiler makes them larger or smaller."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One pair of bytes. `key` is the contract key that sets the limit, None for the device's own memory.

    `least` is the part of `used` that is the same at every effort; `room` is what a fast figure needs to pass alone.
    """

    what: str
    key: str | None
    used: int
    allowed: int
    least: int
    room: int

    @property
    def kept(self) -> bool:
        return self.used <= self.allowed

    @property
    def open(self) -> bool:
        """Whether a fast figure leaves open on which side of the limit a full compile is."""
        return self.least <= self.allowed < self.room


def is_estimate(evidence: StepEvidence) -> bool:
    """Whether the figures come from a TPU compile at less than full effort."""
    provenance = evidence.capture.manifest.provenance
    return provenance.effort == "fast" and provenance.target.startswith("tpu:")


def confidence(evidence: StepEvidence, fixed: bool = False) -> Confidence:
    """How sure a verdict on memory is; `fixed` says that every effort of the compiler gives the same one."""
    return "likely" if is_estimate(evidence) and not fixed else "certain"


def limits(evidence: StepEvidence) -> Iterator[Limit]:
    """Every limit the step's memory is held to, contract first; the device's own where no budget is stricter."""
    section, ledger = evidence.contract.memory, evidence.memory
    if ledger is None:
        return
    early = early_bytes(evidence) if is_estimate(evidence) else 0
    need, standing = ledger.need_bytes, ledger.standing_bytes
    budget = section.hbm if section is not None else None
    if budget is not None:
        yield Limit("the program", "memory.hbm", need, budget, standing, ROOM * need + early)
    for name, allowed in section.classes.items() if section is not None else ():
        used = ledger.by_class.get(name, 0)
        # The peak may come at a moment at which all temporaries are of this class.
        fixed, most = name in FIXED_CLASSES, max(used, ledger.temp_bytes)
        least, room = (used, used) if fixed else (0, ROOM * most + early)
        yield Limit(f"{name} buffers", f"memory.classes.{name}", used, allowed, least, room)
    capacity = available_bytes(evidence)
    if capacity is not None and (budget is None or budget > capacity):
        yield Limit("the program", None, need, capacity, standing, ROOM * need + early)


def early_bytes(evidence: StepEvidence) -> int:
    """The results of all collectives of the partitioned program at once, those in a loop of one round."""
    module = evidence.step.partitioned
    return sum(each.shape.bytes for each in collective_instructions(module)) if module is not None else 0


def open_limits(evidence: StepEvidence) -> list[Limit]:
    """Limits of a fast compile of which only a full one can say whether the step keeps them."""
    return [limit for limit in limits(evidence) if limit.open] if is_estimate(evidence) else []


def unproven(evidence: StepEvidence) -> list[Limit]:
    """Limits that a fast compile keeps, but by less than a full one may take away."""
    return [limit for limit in open_limits(evidence) if evidence.facts.error is None and limit.kept]


def left_to_full(evidence: StepEvidence) -> bool:
    """Whether a fast compile leaves the verdict on memory to a full one. One that was refused is such a case too: the
    full one may need less, except of what lives for the whole step."""
    if not is_estimate(evidence):
        return False
    if not refused(evidence):
        return bool(open_limits(evidence))
    available, ledger = available_bytes(evidence), evidence.memory
    return available is None or ledger is None or ledger.standing_bytes <= available


def refused(evidence: StepEvidence) -> bool:
    """Whether the compiler refused the program for its size."""
    return evidence.facts.error is not None and evidence.facts.error.kind == OUT_OF_MEMORY


def refusal(evidence: StepEvidence) -> OutOfMemory | None:
    """What the compiler said when it refused the step for its size; None where it did not, or in unknown words."""
    error = evidence.facts.error
    if error is None or not refused(evidence):
        return None
    # File descriptor 2 has the longer report where the exception has the short one.
    return out_of_memory(evidence.step.stderr or "") or out_of_memory(error.message)


def available_bytes(evidence: StepEvidence) -> int | None:
    """What a device gives a program: as the compiler says where it refused one, else by the table of devices."""
    said = refusal(evidence)
    return said.available_bytes if said is not None else device_bytes(evidence)


def device_bytes(evidence: StepEvidence) -> int | None:
    """What one device of the target gives a program; None where the kind has no fixed size."""
    name = target_name(evidence)
    return None if name is None else name.kind.program_bytes


def target_name(evidence: StepEvidence) -> TargetName | None:
    """The target's name in parts; None for one of a later version."""
    try:
        return parse_target(evidence.target)
    except ValueError:
        return None
