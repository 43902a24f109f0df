"""What the smoke test of a resume saw: one run that was never stopped, and one that was killed and taken up again."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from .manifest import Comparison

KillPoint = Literal["before the commit", "between items", "while it finalises"]
KILL_POINTS: tuple[KillPoint, ...] = ("before the commit", "between items", "while it finalises")
BATCH, RNG, RATE = "batch", "rng", "learning_rate"
"""What of a step has a rule of its own; all other names are numbers that the step gives."""


class ResumeModel(BaseModel):
    """Base of what is written down."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StepSeen(ResumeModel):
    """One step: `step` are the finished ones behind it.

    values: name -> the value to the bit, as text: a number by its shortest exact decimals, arrays by their sha256.
    state: array of the state -> its sha256.
    """

    step: int
    values: dict[str, str] = {}
    state: dict[str, str] = {}


class LegSeen(ResumeModel):
    """One process of a run, on one mesh.

    restored: the finished steps that it took up, 0 for none. state: arrays as they were then. saved: steps that were
    saved and waited for; begun: the one whose save was begun last. killed: where. committed: the newest committed step
    on disk when it had ended; None where what is there is of another format. compared: the loss as it was restored,
    against the mesh before.
    """

    mesh: dict[str, int]
    restored: int
    state: dict[str, str]
    seen: list[StepSeen] = []
    saved: list[int] = []
    begun: int | None = None
    killed: KillPoint | None = None
    committed: int | None = None
    compared: Comparison | None = None
    not_compared: str | None = None


class ResumeFacts(ResumeModel):
    """The unbroken run; the legs of the killed one, in order; and the restores onto other meshes, each of what the one
    before saved (the first: of what the unbroken run saved).

    own: whether the step brought its own `resumable`. missing: what a resume needs and the saved step has not.
    notes: what was not tried, and why.
    """

    step: str
    target: str
    own: bool
    unbroken: LegSeen
    legs: list[LegSeen]
    meshes: list[LegSeen] = []
    missing: list[str] = []
    notes: list[str] = []
