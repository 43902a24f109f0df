"""What can be judged of a step: every rule where it was compiled, fewer where it got no further than an error.

A program that the compiler refused for its size was partitioned before: its collectives are those that were asked for,
and its graph is traced. Where tensors lie and what lives in memory is settled by the program that was not made.
"""

from __future__ import annotations

from collections.abc import Iterator

from .evidence import StepEvidence
from .program.limits import refused
from .registry import rules
from .rule import Rule


def applicable(evidence: StepEvidence) -> Iterator[Rule]:
    """The rules for this step, in order; those on a run or a probe find nothing where none was asked for."""
    yield from rules("trace")
    if evidence.facts.error is None:
        yield from rules("program")
        yield from rules("run")
        yield from rules("semantics")
    elif refused(evidence) and evidence.step.partitioned is not None:
        yield from (rule for rule in rules("program") if not rule.compiled)


def unjudged(evidence: StepEvidence) -> list[str]:
    """The contract's keys that no rule looked at, because the step was not compiled."""
    if evidence.facts.error is None:
        return []
    contract, section, memory = evidence.contract, evidence.section, evidence.contract.memory
    found = [name for name in ("model", "batch", "optimizer", "parameters") if getattr(contract, name) is not None]
    if contract.collectives is not None and not (refused(evidence) and evidence.step.partitioned is not None):
        found.append("collectives")
    if memory is not None:
        found += [f"memory.{name}" for name in memory.model_fields_set if name != "hbm" or not refused(evidence)]
    if section is not None and section.donate:
        found.append(f"{evidence.step_key}.donate")
    return sorted(found)
