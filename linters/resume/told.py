"""What was tried on a resume and what was not, in words: a clean verdict rests on it."""

from __future__ import annotations

from collections.abc import Callable

from ...contracts.resume import BATCH, OF_A_COMMIT, OF_RENAMES, OF_WRITES, RATE, RNG, KillPoint, LegSeen, ResumeFacts
from .evidence import words

_WHERE: dict[KillPoint, str] = {
    "before the commit": "before the commit of {}",
    "before its last rename": "before the last rename of {}",
    "between items": "between two items of {}",
    "while it finalises": "while {} was finalised in the background",
    "at its first write": "at the first write of {}",
    "before its last write": "before the last write of {}",
    "at its last write": "at the last write of {}",
}
_COMPARED: dict[str, Callable[[str], bool]] = {
    "loss": lambda name: "loss" in name,
    "gradient norm": lambda name: "norm" in name or "grad" in name,
    BATCH: lambda name: name == BATCH,
    RNG: lambda name: name == RNG,
    RATE: lambda name: name == RATE,
}
"""What a resume is compared by -> whether a value of this name (in lower case) is that."""


def stopped(leg: LegSeen) -> str:
    """How a leg came to its end: `was killed at the first write of the save of step 3 (3/arrays.npz)`."""
    if leg.killed is None:
        return f"ended behind the save of step {leg.saved[-1]:,}" if leg.saved else "ended"
    file = f" ({file})" if (file := _file(leg)) else ""
    return f"was killed {_WHERE[leg.killed].format(f'the save of step {leg.begun:,}')}{file}"


def _file(leg: LegSeen) -> str:
    """What a leg was killed at, where that is of interest: a commit that renames no step renames what points to it."""
    told = leg.killed in OF_WRITES or (leg.killed in OF_RENAMES and leg.killed_at != str(leg.begun))
    return leg.killed_at if told else ""


def kills(facts: ResumeFacts) -> str:
    """Where the run was killed: `killed before the commit (step 2), at its first write (step 3: 3/arrays.npz)`."""
    stops = [f"{leg.killed} ({_place(leg)})" for leg in facts.legs if leg.killed is not None]
    return f"killed {', '.join(stops) or 'nowhere'}"


def _place(leg: LegSeen) -> str:
    return f"step {leg.begun:,}: {file}" if (file := _file(leg)) else f"step {leg.begun:,}"


def not_killed(facts: ResumeFacts) -> str | None:
    """The kinds of points that its saves do not have; None where they have all."""
    save = facts.unbroken.save
    if save is None or not save.points:
        return (
            "not killed within a save: nothing that it makes below the folder is heard (what native code makes is not)"
        )
    lacks: list[str] = [point for point in OF_A_COMMIT if point not in save.points]
    if not lacks:
        return None
    *lacks, last = lacks
    return f"not killed {', '.join(lacks)}{' or ' if lacks else ''}{last}: the save has no such point"


def not_held(facts: ResumeFacts) -> str | None:
    """Why nobody looked at whether the state is whole, where that is so."""
    if facts.unbroken.lacking is not None:
        return None
    return "not looked at whether `state()` is whole: the step does not say what it carries over (`carry`)"


def not_compared(facts: ResumeFacts) -> list[str]:
    """What no value that a step gives has the name of."""
    names = [name.lower() for seen in facts.unbroken.seen for name in seen.values]
    return [what.replace("_", " ") for what, fits in _COMPARED.items() if not any(map(fits, names))]


def proof(facts: ResumeFacts) -> str:
    """What a clean verdict rests on."""
    names = list(dict.fromkeys(name for seen in facts.unbroken.seen for name in seen.values))
    resumes = sum(bool(leg.restored) for leg in facts.legs)
    steps, arrays = len(facts.unbroken.seen), len(facts.unbroken.state)
    equal = [", ".join(names)] * bool(names) + [f"{arrays:,} array{'s' * (arrays != 1)} of the state"]
    parts = [
        f"{steps:,} step{'s' * (steps != 1)}, {kills(facts)}, taken up {resumes} time{'s' * (resumes != 1)}: "
        f"{' and '.join(equal)} equal to the bit"
    ]
    if all(leg.killed is None for leg in facts.legs) and (said := not_killed(facts)):
        parts.append(said)
    if lacks := not_compared(facts):
        parts[0] += f" (not compared: {', '.join(lacks)})"
    for leg in facts.meshes:
        ratio = leg.compared.ratio if leg.compared is not None else None
        loss = "" if ratio is None else f", loss at {ratio:.2g} of its bound" if ratio else ", the loss too"
        parts.append(f"on {words(leg.mesh)} equal to the bit{loss}")
    return "; ".join(parts)
