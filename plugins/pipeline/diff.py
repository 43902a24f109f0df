"""Two programs opened and compared: dumps, or one step of two captures with the stages before the compiler."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.manifest import MeshFact, Provenance
from ...hlo_tools.capture import MANIFEST, Capture, StepCapture, read_capture
from ...hlo_tools.diff import Diff, Side, compare
from ...hlo_tools.diff.placement import placed
from ...hlo_tools.diff.thresholds import Broken, broken, parse_thresholds
from .hlo import Program, Stage, is_folder, memory_of, open_program

_MADE_BY = ("target", "effort", "jax", "jaxlib", "libtpu", "flax", "optax", "xla_flags", "python", "commit")


@dataclass(frozen=True, slots=True)
class Compared:
    """A diff and the thresholds it breaks, in the order they were given."""

    diff: Diff
    thresholds: str | None = None
    broken: list[Broken] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 where a threshold is broken; a change alone is no failure."""
        return 1 if self.broken else 0


def diff_of(
    a: str,
    b: str,
    *,
    step: str | None = None,
    stage: Stage = "optimized",
    mesh: MeshFact | None = None,
    thresholds: str | None = None,
) -> Compared:
    """What program B does otherwise than A. A source is a file of HLO text or proto, a folder of a capture or of a
    compiler's dump, or `-`.

    Raises ContractLintError for a source that cannot be read, for two standard inputs, for captures that have no step
    in common or several, and for thresholds that are none or cannot be judged.
    """
    asked = parse_thresholds(thresholds) if thresholds is not None else []
    if a == b == "-":
        raise ContractLintError("standard input holds one program, and both are asked from it")
    captures = _capture(a), _capture(b)
    if captures[0] is not None and captures[1] is not None and step is None:
        step = _common_step(captures[0], captures[1])
    # What is chosen of a folder is not asked of what holds one program, beside it; alone, that is told.
    steps_in = [source for source in (a, b) if is_folder(source)] or [a, b]
    stages_in = [source for source, capture in zip((a, b), captures, strict=True) if capture is not None] or [a, b]

    def opened(source: str) -> Program:
        chosen = step if source in steps_in else None
        return open_program(source, step=chosen, stage=stage if source in stages_in else "optimized", mesh=mesh)

    programs = opened(a), opened(b)
    sides = _side(a, programs[0]), _side(b, programs[1])
    if captures[0] is not None and captures[1] is not None:
        steps = _step_of(captures[0], step), _step_of(captures[1], step)
        diff = compare(*sides, asked=_asked(a, b, *steps) if stage == "optimized" else None)
        _place(diff, captures[0], captures[1], steps)
    else:
        diff = compare(*sides)
    return Compared(diff, thresholds, broken(asked, diff))


def _capture(source: str) -> Capture | None:
    path = Path(source)
    if source == "-" or not (os.path.exists(path / MANIFEST) or path.name == MANIFEST):
        return None
    return read_capture(path if os.path.isdir(path) else path.parent)


def _common_step(a: Capture, b: Capture) -> str:
    common = [name for name in a.steps if name in b.steps]
    if len(common) == 1:
        return common[0]
    if len(a.steps) == len(b.steps) == 1 and not common:
        names = f"{next(iter(a.steps))} and {next(iter(b.steps))}"
        raise ContractLintError(f"the captures hold different steps: {names}", help="compare captures of one step")
    said = f"steps in both: {', '.join(common)}" if common else "no step is in both"
    raise ContractLintError(said, Location(b.root.as_posix()), "name one with --step" if common else None)


def _step_of(capture: Capture, name: str | None) -> StepCapture:
    return next(iter(capture.steps.values())) if name is None else capture.steps[name]


def _side(source: str, program: Program) -> Side:
    name = source if source != "-" else "<stdin>"
    side = Side(name, program.module, program.mesh)
    if program.stage == "partitioned":
        side.no_memory = "the partitioned module is not what runs"
        return side
    try:
        side.memory = memory_of(program)
    except ContractLintError as error:
        side.no_memory = error.message
    return side


def _asked(a: str, b: str, one: StepCapture, other: StepCapture) -> tuple[Side, Side] | None:
    """What the partitioner left of both, where both captures hold it."""
    if one.partitioned is None or other.partitioned is None:
        return None
    return Side(a, one.partitioned, one.mesh), Side(b, other.partitioned, other.mesh)


def _place(diff: Diff, a: Capture, b: Capture, steps: tuple[StepCapture, StepCapture]) -> None:
    """Says of two captures where their difference comes from."""
    one, other = steps
    made_by = _made_by(a.manifest.provenance, b.manifest.provenance)
    diff.placement = placed(
        (one.jaxpr_text, other.jaxpr_text), (one.stablehlo_text, other.stablehlo_text), diff.same, made_by
    )


def _made_by(a: Provenance, b: Provenance) -> list[str]:
    """`jax 0.10.2 -> 0.12.0.1`: what differs in how the captures were made."""
    found = []
    for name in _MADE_BY:
        before, after = getattr(a, name), getattr(b, name)
        if before != after:
            words = [" ".join(v) if isinstance(v, list) else str(v or "none") for v in (before, after)]
            found.append(f"{name} {words[0] or 'none'} -> {words[1] or 'none'}")
    return found
