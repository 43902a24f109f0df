"""What the rules on a resume are given, and the ways to look at it that several share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...contracts.finding import Finding
from ...contracts.load import LoadedContract
from ...contracts.resume import LegSeen, ResumeFacts, StepSeen
from ..rule import Rule
from .anew import began_anew

_TIMES = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class Difference:
    """The first value that a resumed run saw otherwise: behind which resume, in which leg, both steps, its name."""

    which: str
    leg: int
    before: StepSeen
    seen: StepSeen
    name: str


@dataclass(frozen=True)
class ResumeEvidence:
    """The facts, the contract, and whether a warm start is an error."""

    facts: ResumeFacts
    loaded: LoadedContract
    strict: bool = False

    def resumed(self) -> Iterator[tuple[int, str, LegSeen]]:
        """The legs that took something up, the number of each, and which resume it is: `the first resume`."""
        taken_up = [(index, leg) for index, leg in enumerate(self.facts.legs) if leg.restored]
        for number, (index, leg) in enumerate(taken_up):
            yield index, f"the {_TIMES[number] if number < len(_TIMES) else f'{number + 1}th'} resume", leg

    def restores(self) -> Iterator[tuple[int, str, LegSeen, dict[str, str]]]:
        """Each resume, and the state as the legs before saw it behind the step that was restored: what they saved."""
        saved: dict[int, dict[str, str]] = {}
        resumes = {index: which for index, which, _ in self.resumed()}
        for index, leg in enumerate(self.facts.legs):
            if index in resumes and leg.restored in saved:
                yield index, resumes[index], leg, saved[leg.restored]
            saved |= {seen.step: seen.state for seen in leg.seen}

    def on_meshes(self) -> Iterator[tuple[int, LegSeen, LegSeen, dict[str, str]]]:
        """Each restore onto another mesh: its number, the leg before, itself, and the state that was saved."""
        before = self.facts.unbroken
        for index, leg in enumerate(self.facts.meshes):
            saved = next((seen.state for seen in before.seen if seen.step == leg.restored), None)
            if saved is not None:
                yield index, before, leg, saved
            before = leg

    @cached_property
    def torn(self) -> dict[int, tuple[str, int]]:
        """Number of a leg -> what is another in it, for each that took up the step whose save was killed, where what
        was saved to the end comes back as it was."""
        found: dict[int, tuple[str, int]] = {}
        if any(first_leaf(saved, leg.state) for _, _, leg, saved in self.on_meshes()):
            return {}
        for index, _, leg, saved in self.restores():
            leaf = first_leaf(saved, leg.state)
            if leaf is None or index in self.warm:
                continue
            before = self.facts.legs[index - 1]
            if before.killed is not None and before.committed is None and leg.restored == before.begun:
                found[index] = leaf
            elif leg.restored not in {self.facts.legs[each].restored for each in found}:
                return {}
        return found

    @cached_property
    def warm(self) -> dict[int, tuple[str, ...]]:
        """Number of a leg -> what began anew, for each that is a warm start."""
        found = {index: self._anew(leg, saved) for index, _, leg, saved in self.restores()}
        newest: LegSeen | None = None  # a leg that takes up parameters, and counts its steps anew
        for index, leg in enumerate(self.facts.legs):
            if newest is not None and not leg.restored:
                step = newest.committed if newest.committed is not None else max(newest.saved, default=0)
                saved = next((seen.state for seen in newest.seen if seen.step == step), {})
                found[index] = self._anew(leg, saved)
            newest = leg
        return {index: anew for index, anew in found.items() if anew}

    @cached_property
    def warm_meshes(self) -> frozenset[int]:
        """Numbers of the restores onto other meshes that are warm starts."""
        return frozenset(index for index, _, leg, saved in self.on_meshes() if self._anew(leg, saved))

    def _anew(self, leg: LegSeen, saved: dict[str, str]) -> tuple[str, ...]:
        return began_anew(saved, leg.state, self.facts.unbroken.state)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the values that the run that never stopped saw."""
        return tuple(dict.fromkeys(name for seen in self.facts.unbroken.seen for name in seen.values))

    def unbroken(self, step: int) -> StepSeen | None:
        """What the run that never stopped saw of a step."""
        return next((seen for seen in self.facts.unbroken.seen if seen.step == step), None)

    def step_with(self, name: str, value: str | None) -> int | None:
        """The first step of the run that never stopped that saw this value: what a resumed run went back to."""
        seen = self.facts.unbroken.seen
        return next((each.step for each in seen if value is not None and each.values.get(name) == value), None)

    def from_the_start(self, different: Difference) -> bool:
        """Whether the first step of a leg saw what the first of a run sees."""
        first, leg = self.facts.unbroken.seen[0], self.facts.legs[different.leg]
        value = different.seen.values.get(different.name)
        return different.seen is leg.seen[0] and value is not None and value == first.values.get(different.name)

    def first_difference(self, *names: str) -> Difference | None:
        """The first value of these names that a resumed run saw otherwise."""
        for index, which, leg in self.resumed():
            for seen in leg.seen:
                before = self.unbroken(seen.step)
                if before is None:
                    continue
                for name in names or before.values:
                    if name in before.values and before.values[name] != seen.values.get(name):
                        return Difference(which, index, before, seen, name)
        return None

    def finding(self, rule: Rule, message: str, *, subject: str, **fields: Any) -> Finding:
        """A finding on the contract's step."""
        place = self.loaded.place(("step", self.facts.step))
        return rule.finding(message, subject=subject, location=place, step=self.facts.step, **fields)


def words(mesh: dict[str, int]) -> str:
    """`data 2 x fsdp 4`."""
    return " x ".join(f"{name} {size}" for name, size in mesh.items()) or "no mesh"


def first_leaf(before: dict[str, str], after: dict[str, str]) -> tuple[str, int] | None:
    """The first array that is another or gone, and how many are."""
    other = [path for path in before if after.get(path) != before[path]]
    return (other[0], len(other)) if other else None
