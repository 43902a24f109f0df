"""What the smoke test of a resume saw: one run that was never stopped, and one that was killed and taken up again."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from .manifest import Comparison

KillPoint = Literal[
    "before the commit",
    "before its last rename",
    "between items",
    "while it finalises",
    "at its first write",
    "before its last write",
    "at its last write",
]
OF_A_COMMIT: tuple[KillPoint, ...] = ("before the commit", "between items", "while it finalises")
"""What a save has that writes in the background, item by item, and renames the step into its place."""
OF_RENAMES: tuple[KillPoint, ...] = ("before the commit", "before its last rename")
"""The first and the last rename of entries of the folder itself."""
OF_WRITES: tuple[KillPoint, ...] = ("at its first write", "before its last write", "at its last write")
"""What every save has whose writes are heard. `at`: the file is opened, and nothing is written."""
BATCH, RNG, RATE = "batch", "rng", "learning_rate"
"""What of a step has a rule of its own; all other names are numbers that the step gives."""
DIGEST = "sha256:"
"""What the text of an array begins with; a number is its decimals."""


class ResumeModel(BaseModel):
    """Base of what is written down."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SaveSeen(ResumeModel):
    """What one save did to files below the folder of the run, as far as it is heard; see `runtime/resume/kill`.

    commits: names that entries of the folder itself got by a rename: of the step, or of what points to it. items:
    renames below that. background: something was done once `save()` had returned. files, folders: how many were opened
    to be written (or linked), and made.
    """

    commits: tuple[str, ...] = ()
    items: int = 0
    background: bool = False
    files: int = 0
    folders: int = 0

    @property
    def points(self) -> tuple[KillPoint, ...]:
        """Where a process can be killed in such a save, those first that tear the most. Without a commit, its writes
        are what can be torn."""
        several = self.files > 0 and self.files + self.folders > 1
        there: dict[KillPoint, bool] = {
            "before the commit": bool(self.commits),
            "before its last rename": len(self.commits) > 1,
            "between items": self.items > 1,
            "while it finalises": self.background,
            "at its first write": self.files + self.folders > 0,
            "before its last write": several,
            "at its last write": several,
        }
        of_a_commit = dict.fromkeys((*OF_RENAMES, *OF_A_COMMIT))
        order = (*of_a_commit, *OF_WRITES) if self.commits else (*OF_WRITES, *of_a_commit)
        return tuple(point for point in order if there[point])


class StepSeen(ResumeModel):
    """One step: `step` are the finished ones behind it.

    values: name -> the value to the bit, as text: a number by its shortest exact decimals, arrays by their sha256.
    state: array of the state -> its sha256.
    """

    step: int
    values: dict[str, str] = {}
    state: dict[str, str] = {}


class Failed(ResumeModel):
    """A method of the run (`restore`) that raised: the error in a line, and where."""

    method: str
    error: str
    frames: tuple[str, ...] = ()


class LegSeen(ResumeModel):
    """One process of a run, on one mesh.

    restored: the finished steps that it took up, 0 for none. state: arrays as they were then. saved: steps that were
    saved and waited for, and what the first of these saves did; begun: the one whose save was begun to be killed.
    lacking: arrays that the step carries over and the run's `state()` has not; None where that was not looked at.
    killed: where, and at which file of the folder. failed: the method of the run that raised behind a kill, and what.
    committed: the newest committed step on disk when it had ended; None where that cannot be told. compared: the loss
    as it was restored, against the mesh before.
    """

    mesh: dict[str, int]
    restored: int
    state: dict[str, str]
    seen: list[StepSeen] = []
    saved: list[int] = []
    save: SaveSeen | None = None
    begun: int | None = None
    killed: KillPoint | None = None
    killed_at: str = ""
    failed: Failed | None = None
    lacking: list[str] | None = None
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
