"""What one leg of the smoke test is asked to do, and what it says, as JSON. Never imports jax."""

from __future__ import annotations

from pydantic import Field

from ...contracts.resume import KillPoint, LegSeen, SaveSeen
from ..request import ChildFailure, ChildRequest, Message


class LossSeen(Message):
    """The loss of the next step on restored arrays, and on arrays moved by a rounding error; see `run.compare`."""

    loss: float
    dtype: str
    moved: list[float] = Field(default_factory=list)
    roundoff: float
    terms: int = 1
    sum_roundoff: float = 0.0


class LegRequest(Message):
    """One leg: restore from `folder` (or begin), go on until `until` steps are finished, and end.

    save: steps behind which it saves and waits. begin: the step behind which it begins to save, to be killed at `kill`;
    `like` is what a save of this run was heard to do.
    loss_at: finished steps behind which the loss of the next is worked out; the first of them is judged by `against`.
    log: the file that everything is told to, line by line: a killed process has no last word. cache: folder of compiled
    programs.
    """

    child: ChildRequest
    folder: str
    log: str
    cache: str
    until: int
    save: list[int] = Field(default_factory=list)
    begin: int | None = None
    kill: KillPoint | None = None
    like: SaveSeen = SaveSeen()
    loss_at: list[int] = Field(default_factory=list)
    against: LossSeen | None = None


class LegReport(Message):
    """What a leg says that was not killed; `loss` is the last of those at `loss_at`."""

    failure: ChildFailure | None = None
    leg: LegSeen | None = None
    loss: LossSeen | None = None
    own: bool = False
