"""One look at a step: built, compiled and, where the target executes, run as `verify --run` would run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....contracts.manifest import StepError
from ....hlo_tools.capture import Capture, read_capture
from ....linters.program.limits import OUT_OF_MEMORY
from ....runtime.contract import project_root, provenance
from ....runtime.launch import DEFAULT_TIMEOUT, run_child
from ....runtime.request import ChildFailure, ChildRequest, ChildResult, MeshRequest, StepRequest
from ....runtime.targets import Effort
from ....runtime.targets import target as parse_target
from ..capture import RUN_STEPS
from ..targets import require_jax

STEP = "train"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was seen, and what a person should know about how it was seen."""

    capture: Capture
    request: ChildRequest
    result: ChildResult
    notes: tuple[str, ...] = ()

    @property
    def ran(self) -> bool:
        return self.capture.steps[STEP].run is not None


@dataclass(frozen=True, slots=True)
class Look:
    """A step as the contract at `out`, not yet written, would name it. `mesh`: axis -> size; `timeout` in seconds."""

    entry: str
    out: Path
    target: str
    args: Mapping[str, Any]
    reference_args: Mapping[str, Any]
    path: Sequence[Path]
    mesh: Mapping[str, int] | None
    python: str | None
    timeout: float | None

    @property
    def effort(self) -> Effort | None:
        """Full where a fast compile proves no memory budget, else the target's default."""
        return "full" if parse_target(self.target).platform == "tpu" else None

    def at_the_step(self, folder: Path, run: bool, say: Say) -> Looked:
        """Capture into `folder`. A step that compiles but cannot be run is captured again without running it; one that
        the compiler refuses for its size is returned with what it left behind.

        Raises ContractLintError for a step that cannot be built, traced or compiled for any other reason.
        """
        require_jax(self.python)
        steps = RUN_STEPS if run and parse_target(self.target).executes else 0
        phase = ""
        if self.effort is not None:
            say(f"{self.target}: compiling at full effort: a budget is written of what runs, not of a fast compile")

        def tell(line: str) -> None:
            nonlocal phase
            phase = line
            say(f"{self.target}: {line}")

        found = self._captured(folder / "capture", steps, tell)
        if isinstance(found, Looked):
            return found if steps else replace(found, notes=("compiles: the step was not run",))
        if phase != f"{STEP}: run":
            raise found.as_error()
        error = found.as_error()
        reason = f"{error.location}: {error.message}" if error.location else error.message
        say(f"the step cannot be run: {reason}")
        again = self._captured(folder / "compiled", 0, tell)
        if isinstance(again, ChildFailure):
            raise again.as_error()
        return replace(again, notes=(f"compiles: the step could not be run: {reason}",))

    def _captured(self, out: Path, steps: int, tell: Say) -> Looked | ChildFailure:
        request = self._request(out, steps)
        result = run_child(request, tell, self.timeout or DEFAULT_TIMEOUT, self.python)
        if result.failure is not None or result.capture_dir is None:
            return result.failure or ChildFailure(message="the step was not captured")
        capture = read_capture(result.capture_dir)
        error = capture.steps[STEP].facts.error
        if error is not None and error.kind != OUT_OF_MEMORY:
            raise _step_error(error, self.entry)
        return Looked(capture, request, result)

    def _request(self, out: Path, steps: int) -> ChildRequest:
        root = project_root(self.out.resolve())
        return ChildRequest(
            mode="infer",
            target=self.target,
            effort=self.effort,
            mesh=None if self.mesh is None else MeshRequest(axes=dict(self.mesh)),
            steps=[
                StepRequest(
                    name=STEP,
                    entry=self.entry,
                    path=[str(each.resolve()) for each in self.path],
                    fallback_path=[] if self.path else [str(self.out.resolve().parent), str(root)],
                    args=dict(self.args),
                    reference_args=dict(self.reference_args),
                )
            ],
            project_root=str(root),
            out=str(out),
            run_steps=steps,
            provenance=provenance(root, "", self.target),
        )


def _step_error(error: StepError, entry: str) -> ContractLintError:
    frame = error.frames[0] if error.frames else None
    place = Location(frame.path, frame.line, frame.column) if frame is not None else None
    return ContractLintError(f"{entry} does not {error.phase}: {error.type}: {error.message}", place)
