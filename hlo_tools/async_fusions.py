"""TPU's async collective fusions: one collective, printed again in every fusion that it overlaps.

    %async-collective-start = fusion(...), calls=A     A ends in custom-call AsyncCollectiveStart(all-gather)
    %fusion.1               = fusion(...), calls=B     B holds a product and the same all-gather: a step of it
    %async-collective-done  = fusion(...), calls=C     C ends in custom-call AsyncCollectiveDone(..., all-gather)

All copies have the channel and, where the compiler numbers its chains, the `chain_id` of the start. It is the start
that runs the collective; the others advance it. Outside of such fusions a channel proves nothing: every collective of
a `shard_map` has channel 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .fused_sums import fused_computations
from .instruction import Instruction
from .module import HloModule

_START = "AsyncCollectiveStart"
_DONE = "AsyncCollectiveDone"

Mark = tuple[str, str]
"""Computation and instruction, by name."""
Chain = tuple[str, int | None, str | None]


def without_copies(found: Sequence[Instruction], module: HloModule) -> tuple[list[Instruction], set[Mark]]:
    """The collectives that run, and which of them an async fusion starts.

    Steps and ends of async fusions are left out, everything else is kept.
    """
    started = _started(module)
    if not started:
        return list(found), started
    chains = {_chain(instruction) for instruction in found if mark(instruction) in started}
    fused = fused_computations(module)
    kept = [
        instruction
        for instruction in found
        if mark(instruction) in started
        or instruction.computation.name not in fused
        or _chain(instruction) not in chains
    ]
    return kept, started


def mark(instruction: Instruction) -> Mark:
    return instruction.computation.name, instruction.name


def _chain(instruction: Instruction) -> Chain:
    return instruction.opcode, instruction.channel_id, instruction.frontend_attributes.get("chain_id")


def ends(module: HloModule) -> dict[Mark, list[Instruction]]:
    """Of every collective that an async fusion starts, the calls that end its chain."""
    started: dict[Chain, list[Mark]] = {}
    for _, operand in _calls(module, _START):
        started.setdefault(_chain(operand), []).append(mark(operand))
    found: dict[Mark, list[Instruction]] = {}
    for call, operand in _calls(module, _DONE):
        for each in started.get(_chain(operand), ()):
            found.setdefault(each, []).append(call)
    return found


def _started(module: HloModule) -> set[Mark]:
    """Every operand of an `AsyncCollectiveStart`."""
    return {mark(operand) for _, operand in _calls(module, _START)}


def _calls(module: HloModule, target: str) -> Iterator[tuple[Instruction, Instruction]]:
    """Every library call of this name, with each of its operands."""
    for computation in module.computations:
        for position, opcode in enumerate(computation.opcodes()):
            if opcode == "custom-call":
                call = computation.instruction_at(position)
                if call.attributes.get("custom_call_target", "").strip('"') == target:
                    for operand in call.operands:
                        yield call, operand
