"""What the parent asks of the child process and what it gets back, as JSON. Never imports jax."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location
from ..contracts.manifest import Provenance


class Message(BaseModel):
    """Base of everything that crosses the process border."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")


class StepRequest(Message):
    """One step to build. `path` holds absolute folders for `sys.path`, `fallback_path` folders tried last.

    `accumulation_arg` is the build argument that sets the number of microbatches, `integers_below` the bound of drawn
    integers.
    """

    name: str
    entry: str
    path: list[str] = []
    fallback_path: list[str] = []
    args: dict[str, Any] = {}
    reference_args: dict[str, Any] = {}
    donate: list[str] | None = None
    static: list[str] | None = None
    signatures: dict[str, list[list[int]]] = {}
    accumulation_arg: str | None = None
    integers_below: int | None = None


class SemanticsRequest(Message):
    """What a step's probe is to find out, as far as the contract promises it.

    counts: numbers of microbatches to build the step with, where `accumulation_arg` of the step says how;
    `microbatches` is the promised one. order: `strided` or `contiguous`. masks: names an array may have that says which
    targets count, those of a weight apart; without any, labels tell it (labels: their names, each with the least value
    that is promised of it).
    clip, clip_arg: limit of the gradient's norm and the build argument that sets it. b1, b2, eps: of the declared
    optimizer.
    """

    counts: tuple[int, ...] = (1, 2, 4, 8)
    microbatches: int = 1
    order: Literal["strided", "contiguous"] = "strided"
    masks: tuple[tuple[str, ...], ...] = ()
    labels: dict[str, float | None] = {}
    clip: float | None = None
    clip_arg: str | None = None
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8


class KeptRequest(Message):
    """What of a training run is kept on disk: its checkpoints in `folder`, every so many steps, the `last` and those of
    multiples of `keep` stay. `contract`: digest of each section; `observations`: the section of that name."""

    folder: str
    every: int
    last: int | None = None
    keep: int | None = None
    contract: dict[str, str] = {}
    observations: dict[str, Any] | None = None


class TrainRequest(Message):
    """A run of the reference trainer: `axes` of the mesh, outermost first; `args`: those of `build`. `promised`: key of
    the contract -> the build argument that it names, and the value that it promises of it."""

    target: str
    axes: dict[str, int]
    args: dict[str, Any]
    promised: dict[str, tuple[str, Any]] = {}
    steps: int
    kept: KeptRequest | None = None


class MeshRequest(Message):
    """The mesh to build over the target's devices: axis name -> size, outermost first."""

    axes: dict[str, int]
    dcn: dict[str, int] = {}


class ChildRequest(Message):
    """Everything one child process does: one target, one mesh, any number of steps.

    `out` is an absolute folder that does not exist yet; the child makes it. In mode `infer` a missing mesh is
    replaced by one axis `data` over all devices. `effort` is how hard the compiler tries, None the target's default.
    """

    mode: Literal["capture", "infer"] = "capture"
    target: str
    effort: Literal["fast", "full"] | None = None
    mesh: MeshRequest | None = None
    steps: list[StepRequest]
    project_root: str
    out: str
    run_steps: int = 0
    semantics: SemanticsRequest | None = None
    provenance: Provenance


class ChildFailure(Message):
    """Why the child gave up: a sentence or paragraph, a place, advice, and the contract key at fault."""

    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    help: str | None = None
    key: list[str] = []

    def as_error(self, location: Location | None = None) -> ContractLintError:
        """The error the command line prints; `location` (of the contract key) stands in where the child named none."""
        if self.path is not None:
            location = Location(self.path, self.line, self.column)
        return ContractLintError(self.message, location, self.help)


class ChildReport(Message):
    """The child's last word. `inputs` are the files (absolute) the captured step was made from, `mesh` is the one that
    stood in where a build function wanted one and the request named none."""

    failure: ChildFailure | None = None
    inputs: list[str] = []
    mesh: MeshRequest | None = None


@dataclass(frozen=True, slots=True)
class ChildResult:
    """Either a finished capture folder or a failure."""

    capture_dir: Path | None
    failure: ChildFailure | None = None
    inputs: list[str] = field(default_factory=list)
    mesh: MeshRequest | None = None

    @property
    def error(self) -> str | None:
        """The failure as one paragraph."""
        return None if self.failure is None else str(self.failure.as_error())


class StepFailure(ContractLintError):
    """Raised in the child: a ContractLintError that may also name the contract key at fault."""

    def __init__(
        self, message: str, location: Location | None = None, help: str | None = None, key: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, location, help)
        self.key = key

    def as_failure(self) -> ChildFailure:
        """The same as data."""
        place = self.location
        return ChildFailure(
            message=self.message,
            path=place.path if place else None,
            line=place.line if place else None,
            column=place.column if place else None,
            help=self.help,
            key=list(self.key),
        )
