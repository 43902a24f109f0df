"""`checkpoint resume`: a step is run unbroken; and killed and taken up again, each leg in a child process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

from ...contracts.errors import ContractLintError
from ...contracts.load import LoadedContract, load_contract
from ...contracts.resume import LegSeen, ResumeFacts, SaveSeen
from ...linters.checkpoint.evidence import CheckpointEvidence
from ...linters.checkpoint.facts import Checkpoint, Step
from ...linters.checkpoint.read import read_checkpoint
from ...linters.checkpoint.warm import missing_for_resume
from ...linters.resume.evidence import ResumeEvidence, words
from ...linters.resume.judge import judge_resume
from ...linters.resume.told import kills, not_compared, not_held, not_killed, proof
from ...runtime.contract import child_request
from ...runtime.folders import temporary_folder
from ...runtime.launch import DEFAULT_TIMEOUT, ask
from ...runtime.request import ChildFailure, ChildRequest
from ...runtime.resume.log import leg_of
from ...runtime.resume.request import LegReport, LegRequest, LossSeen
from ...runtime.targets import target as parse_target
from .report import FailOn, Report, report
from .selection import require_known, selected
from .targets import chosen_targets, require_jax

VERB = "checkpoint resume"
MODULE = "contract_lint.runtime.resume.leg"
MOST_MESHES = 2
FEWEST = 2
"""Legs that save and end: many a state is right behind the first resume alone."""
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How the legs are run. `meshes`: axis sizes to restore onto; None: up to two others that the devices make."""

    step: str | None = None
    target: str | None = None
    steps: int = 6
    meshes: Sequence[dict[str, int]] | None = None
    python: str | None = None
    timeout: float | None = None


def check_resume(
    path: str,
    options: Options,
    *,
    strict: bool = False,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fail_on: FailOn = "error",
    say: Told | None = None,
) -> Report:
    """Findings on how a contract's step resumes. `strict`: a warm start is an error.

    Raises ContractLintError for wrong usage and for whatever the step raises.
    """
    require_known([*select, *ignore])
    loaded = load_contract(path).readable()
    facts = resumed(loaded, options, say)
    found = judge_resume(ResumeEvidence(facts, loaded, strict))
    return report(
        selected(found, select, ignore),
        verb=VERB,
        subject=f"step {facts.step}",
        targets=(facts.target,),
        contracts=(loaded.path,),
        fail_on=fail_on,
        proof=proof(facts),
        notes=_notes(facts, bool(found)),
    )


def _notes(facts: ResumeFacts, spoilt: bool) -> tuple[str, ...]:
    """What was not tried; and, where findings stand in the place of the proof, what was."""
    said = [each for each in (not_killed(facts), not_held(facts)) if each is not None]
    if spoilt:
        said.append(kills(facts))
        said += [f"not compared: {', '.join(lacks)}"] if (lacks := not_compared(facts)) else []
    return (*facts.notes, *said)


def resumed(loaded: LoadedContract, options: Options, say: Told | None = None) -> ResumeFacts:
    """Run all legs. Raises ContractLintError for whatever the step raises, on a mesh that was asked for too."""
    require_jax(options.python)
    names = chosen_targets(loaded, () if options.target is None else (options.target,))
    executing = [name for name in names if parse_target(name).executes]
    if not executing:
        said = f"none of the targets {', '.join(names)} can be executed here"
        raise ContractLintError(said, loaded.place("targets"), "name one that can: --target cpu:8")
    mesh = loaded.contract.mesh if loaded.contract is not None else None
    for axes in options.meshes or ():
        if (lacks := next((axis for axis in axes if mesh is None or axis not in mesh.axes), None)) is not None:
            there = (
                f"{loaded.path} has the axes {', '.join(mesh.axes)}"
                if mesh is not None
                else "the contract names no mesh"
            )
            raise ContractLintError(
                f"the mesh {words(axes)} has an axis {lacks}: {there}",
                loaded.place("mesh"),
                "name axes of the contract's `mesh`",
            )
        if prod(axes.values()) != (devices := parse_target(executing[0]).device_count):
            said = f"the mesh {words(axes)} needs {prod(axes.values()):,} devices, and {executing[0]} has {devices:,}"
            raise ContractLintError(said, None, "give --mesh sizes whose product is the number of devices")
    steps = list(loaded.contract.step) if loaded.contract is not None else []
    child = child_request(loaded, executing[0], [options.step or steps[0]])
    with temporary_folder() as work:
        return _Test(loaded, child, options, work, say or (lambda line: None)).run()


class _Test:
    def __init__(self, loaded: LoadedContract, child: ChildRequest, options: Options, work: Path, say: Told) -> None:
        self.loaded, self.child, self.options, self.work, self.say = loaded, child, options, work, say
        self.notes: list[str] = []
        self.own = False
        self.loss: LossSeen | None = None
        self.legs = 0
        self.heard = SaveSeen()
        self.torn = self.renames = False

    def run(self) -> ResumeFacts:
        until = self.options.steps
        first, second = max(1, until // 3), max(2, 2 * until // 3)
        self.say(f"{until} steps, never stopped")
        unbroken = self._leg("unbroken", self.child, until, save=[first], loss_at=[first])
        loss = self.loss
        self.heard = unbroken.save or self.heard
        latest = _latest(self.work / "unbroken")
        # Names that count something else (tokens, from 0) do not tell which finished step is committed.
        named = latest is not None and latest.number == first
        self.renames = latest is not None and named and Path(latest.folder).name in self.heard.commits
        legs = list(self._killed([(first + 1, [first]), (second + 1, [second]), (second + 1, [])]))
        meshes = self._meshes(first, loss)
        return ResumeFacts(
            step=self.child.steps[0].name,
            target=self.child.target,
            own=self.own,
            unbroken=unbroken,
            legs=legs,
            meshes=meshes,
            missing=self._missing(),
            notes=self.notes,
        )

    def _killed(self, asked: Sequence[tuple[int, list[int]]]) -> Iterator[LegSeen]:
        """The legs that end in a save of their last step, killed there as long as it has further points, and one that
        goes on to the end. A leg that cannot go on is the last."""
        points = self.heard.points
        for number, (at, save) in enumerate(asked[: max(FEWEST, len(points))]):
            if number < len(points):
                self.say(f"taken up, and killed in the save of step {at}, {points[number]}")
                leg = self._leg("run", self.child, at, save=save, begin=at, kill=points[number], like=self.heard)
            else:
                self.say(f"taken up, and ended behind the save of step {at}")
                leg = self._leg("run", self.child, at, save=[*save, at])
            yield leg
            if leg.failed is not None:
                return
        self.say(f"taken up, to step {self.options.steps}")
        yield self._leg("run", self.child, self.options.steps)

    def _meshes(self, saved: int, loss: LossSeen | None) -> list[LegSeen]:
        """Restore what the unbroken run saved onto another mesh, and what that saved onto a third."""
        before, found = "unbroken", []
        for number, axes in enumerate(self._others()):
            mesh = self.child.mesh.model_copy(update={"axes": axes}) if self.child.mesh is not None else None
            child = self.child.model_copy(update={"mesh": mesh})
            self.say(f"taken up on {words(axes)}")
            name = f"mesh{number}"
            shutil.copytree(self.work / before, self.work / name)
            try:
                at = saved + number
                leg = self._leg(name, child, at + 1, save=[at + 1], loss_at=[at, at + 1], against=loss)
            except ContractLintError as error:
                if self.options.meshes is not None:
                    raise
                self.notes.append(f"not restored onto {words(axes)}: {' '.join(error.message.split())[:200]}")
                shutil.rmtree(self.work / name)
                continue
            if leg.not_compared:
                self.notes.append(f"loss on {words(axes)} not compared: {leg.not_compared}")
            found.append(leg)
            before, loss = name, self.loss
            if len(found) == MOST_MESHES and self.options.meshes is None:
                break
        return found

    def _others(self) -> Iterator[dict[str, int]]:
        """The meshes to restore onto."""
        if self.options.meshes is not None:
            yield from self.options.meshes
            return
        if self.child.mesh is None:
            self.notes.append("restored onto no other mesh: the contract names none")
            return
        axes = self.child.mesh.axes
        others = list(_arrangements(axes))
        if not others:
            self.notes.append(f"restored onto no other mesh: {words(axes)} is the only one over its axes")
        yield from others

    def _leg(self, folder: str, child: ChildRequest, until: int, **asked: object) -> LegSeen:
        """Run one leg; what is on disk when it has ended is looked at from here."""
        self.legs += 1
        place = self.work / folder
        place.mkdir(exist_ok=True)
        request = LegRequest.model_validate(
            {
                "child": child,
                "folder": str(place),
                "log": str(self.work / f"leg{self.legs}.jsonl"),
                "cache": str(self.work / "cache"),
                "until": until,
                **asked,
            }
        )
        said = self._ask(request)
        leg = leg_of(request)
        if isinstance(said, ChildFailure):
            if leg is None or leg.killed is None:
                raise said.as_error(self.loaded.place("step"))
            made = LegReport()
        else:
            made = LegReport.model_validate_json(said)
        if made.failure is not None and not (leg is not None and leg.failed is not None and self._tears(request, leg)):
            key = tuple(made.failure.key)
            raise made.failure.as_error(self.loaded.place(key) if key else None)
        assert leg is not None
        if request.kill is not None and leg.killed is None and leg.failed is None:
            self.notes.append(f"not killed {request.kill}: no save of step {request.begin:,} came to that")
        self.own, self.loss, self.torn = self.own or made.own, made.loss, leg.killed is not None
        # A step that was not renamed into its place may look whole when it is not; nor is one that renames lack.
        latest = _latest(place) if self.renames and request.kill != "before its last rename" else None
        return leg.model_copy(update={"committed": None if latest is None else latest.number})

    def _ask(self, request: LegRequest) -> str | ChildFailure:
        timeout = self.options.timeout or DEFAULT_TIMEOUT
        target, python = request.child.target, self.options.python
        return ask(MODULE, request, target, on_progress=self.say, timeout=timeout, python=python)

    def _tears(self, request: LegRequest, leg: LegSeen) -> bool:
        """Whether it is the kill before that made a leg fail: the same, behind a save that ended, does not."""
        if not self.torn or leg.failed is None:
            return False
        self.say(f"{leg.failed.method}() failed: taken up again behind a save that ended")
        place = self.work / "ended"
        shutil.copytree(self.work / "unbroken", place)
        asked = {"until": 0, "save": [], "begin": None} if leg.failed.method == "restore" else {"begin": None}
        log = str(self.work / "ended.jsonl")
        said = self._ask(request.model_copy(update={"folder": str(place), "log": log, "kill": None, **asked}))
        return not isinstance(said, ChildFailure) and LegReport.model_validate_json(said).failure is None

    def _missing(self) -> list[str]:
        checkpoint = _read(self.work / "run")
        if checkpoint is None:
            self.notes.append("what was saved was not looked at: it is of no format that is known")
            return []
        evidence = CheckpointEvidence(checkpoint, self.loaded)
        if evidence.section.state and not self.own:
            self.notes.append(
                "`checkpoint.state` not looked for: without `resumable`, contract-lint saved what the step carries"
            )
        return missing_for_resume(evidence, state=self.own)


def _arrangements(axes: dict[str, int]) -> Iterator[dict[str, int]]:
    """Every other way to spread the same devices over the same axes, those near to the given sizes last."""
    devices = prod(axes.values())
    sizes = [size for size in range(1, devices + 1) if devices % size == 0]
    found = [dict(zip(axes, each, strict=True)) for each in product(sizes, repeat=len(axes)) if prod(each) == devices]
    # Without axes of size 1 first: more is spread there.
    yield from sorted((each for each in found if each != axes), key=lambda each: list(each.values()).count(1))


def _read(folder: Path) -> Checkpoint | None:
    try:
        return read_checkpoint(folder)
    except ContractLintError:
        return None


def _latest(folder: Path) -> Step | None:
    checkpoint = _read(folder)
    return checkpoint.latest if checkpoint is not None else None
