"""What the rules on a resume are given, and the ways to look at it that several share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...contracts.finding import Finding
from ...contracts.load import LoadedContract
from ...contracts.resume import LegSeen, ResumeFacts, StepSeen
from ..rule import Rule

_TIMES = ("first", "second", "third", "fourth")


@dataclass(frozen=True)
class ResumeEvidence:
    """The facts, the contract, and whether a warm start is an error."""

    facts: ResumeFacts
    loaded: LoadedContract
    strict: bool = False

    def resumed(self) -> Iterator[tuple[str, LegSeen]]:
        """The legs that took something up, and which resume each is: `the first resume`."""
        taken_up = [leg for leg in self.facts.legs if leg.restored]
        for number, leg in enumerate(taken_up):
            yield f"the {_TIMES[number] if number < len(_TIMES) else f'{number + 1}th'} resume", leg

    def restores(self) -> Iterator[tuple[str, LegSeen, dict[str, str]]]:
        """Each resume, and the state as the legs before saw it behind the step that was restored: what they saved."""
        saved: dict[int, dict[str, str]] = {}
        resumes = {id(leg): which for which, leg in self.resumed()}
        for leg in self.facts.legs:
            if id(leg) in resumes and leg.restored in saved:
                yield resumes[id(leg)], leg, saved[leg.restored]
            saved |= {seen.step: seen.state for seen in leg.seen}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the values that the run that never stopped saw."""
        return tuple(dict.fromkeys(name for seen in self.facts.unbroken.seen for name in seen.values))

    def unbroken(self, step: int) -> StepSeen | None:
        """What the run that never stopped saw of a step."""
        return next((seen for seen in self.facts.unbroken.seen if seen.step == step), None)

    def step_with(self, name: str, value: str | None) -> int | None:
        """The first step of the run that never stopped that saw this value: what a resumed run went back to."""
        return next((seen.step for seen in self.facts.unbroken.seen if seen.values.get(name) == value), None)

    def first_difference(self, *names: str) -> tuple[str, StepSeen, StepSeen, str] | None:
        """The first value of these names that a resumed run saw otherwise: which resume, both steps, the name."""
        for which, leg in self.resumed():
            for seen in leg.seen:
                before = self.unbroken(seen.step)
                if before is None:
                    continue
                for name in names or before.values:
                    if name in before.values and before.values[name] != seen.values.get(name):
                        return which, before, seen, name
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
