"""What a checkpoint is in a few numbers, worked out once: the words of a clean verdict and the facts of JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .coverage import Coverage
from .evidence import CheckpointEvidence, counted
from .facts import Item, Leaf, Step

_EXCEPT = {"unstored": "chunks that may hold zeros", "unread": "arrays that are not looked at"}
"""Holes that are no errors, and what is open where there are some."""


@dataclass(frozen=True, slots=True)
class Amount:
    """So many arrays. `bytes` are those of their elements, whatever they take on disk."""

    arrays: int
    elements: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Covered:
    """One slot, or the parameters: `of` so many parameters."""

    covered: int
    of: int
    masked: int


@dataclass(frozen=True, slots=True)
class Observed:
    """What lies beside the steps: lines of metrics, and files."""

    lines: int
    files: int


@dataclass(frozen=True, slots=True)
class Summary:
    """`step` is the one that was read, `steps` are all of its folder, none where one step was named, and then nobody
    knows whether it is the `newest`. `unproven` is what "complete" leaves out.

    `digests`: the list that contents were compared with; `verified`: whether they are as it says.
    """

    path: str
    step: Step
    newest: bool | None
    steps: tuple[Step, ...]
    items: tuple[tuple[Item, Amount], ...]
    amount: Amount
    files: int
    file_bytes: int
    parameters: str | None
    slots: dict[str, Covered]
    slotless: bool
    """Whether nothing is saved beside the parameters that looks like a slot of theirs, and nothing says that it need
    not be."""
    matrix: Coverage
    unproven: tuple[str, ...]
    digests: str | None
    verified: bool
    observed: Observed | None
    observations: bool
    """Whether they are promised."""

    @property
    def said(self) -> str:
        """What a clean verdict rests on: `complete, contents unverified; step 2 (newest of 3 committed), 24 arrays`."""
        but = f" but for {' and '.join(self.unproven)}" if self.unproven else ""
        contents = f"contents as in {self.digests}" if self.verified else "contents unverified"
        counts = f"{counted(self.amount.arrays, 'array')}, {counted(self.amount.elements, 'element')}"
        if self.steps:
            committed = sum(step.state == "committed" for step in self.steps)
            counts = (
                f"step {self.step.folder} ({'newest' if self.newest else 'one'} of {committed} committed), {counts}"
            )
        parts = [f"complete{but}, {contents}", counts]
        if self.slots:
            parts.append("slots " + ", ".join(map(_slot, self.slots.items())))
        elif self.parameters is None:
            parts.append("no parameters told from the rest")
        elif self.slotless:
            parts.append("no optimizer slots found")
        if self.observed is not None:
            files = f", {counted(self.observed.files, 'file')}" if self.observed.files else ""
            parts.append(f"observed: {counted(self.observed.lines, 'line')} of metrics{files}")
        elif self.observations:
            parts.append("observations not looked at: one step was named")
        return "; ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "path": self.path,
            "step": {**_step(self.step), "newest": self.newest},
            "steps": list(map(_step, self.steps)),
            "items": [{"name": item.name, "layout": item.layout, **asdict(amount)} for item, amount in self.items],
            **asdict(self.amount),
            "files": self.files,
            "file_bytes": self.file_bytes,
            "parameters": self.parameters,
            "slots": {name: asdict(covered) for name, covered in self.slots.items()},
            "unproven": list(self.unproven),
            "contents": {"verified": self.verified, "digests": self.digests},
            "observed": asdict(self.observed) if self.observed is not None else None,
        }


def summary_of(evidence: CheckpointEvidence) -> Summary:
    """The numbers of the step that was read."""
    checkpoint = evidence.checkpoint
    seen = evidence.observations
    kinds = {hole.kind for item in checkpoint.items for hole in item.holes}
    rows = [row for row in evidence.coverage.slots if row.name in evidence.slots]
    return Summary(
        path=checkpoint.path,
        step=checkpoint.step,
        newest=checkpoint.step == checkpoint.latest if checkpoint.steps else None,
        steps=checkpoint.steps,
        items=tuple((item, _amount(item.leaves.values())) for item in checkpoint.items),
        amount=_amount(checkpoint.leaves.values()),
        files=len(checkpoint.files),
        file_bytes=sum(checkpoint.files.values()),
        parameters=evidence.root,
        slots={row.name: Covered(len(row.of("covered")), len(row.cells), len(row.of("masked"))) for row in rows},
        slotless=bool(evidence.parameters) and not evidence.slots and evidence.slots_key is None,
        matrix=evidence.coverage,
        unproven=tuple(said for kind, said in _EXCEPT.items() if kind in kinds),
        digests=evidence.digests.path if evidence.digests is not None else None,
        verified=evidence.digests is not None and not evidence.digests.changed,
        observed=Observed(len(seen.lines), len(seen.files or ())) if seen is not None else None,
        observations=evidence.section.observations is not None,
    )


def _amount(leaves: Iterable[Leaf]) -> Amount:
    arrays = [leaf for leaf in leaves if leaf.kind == "array"]
    return Amount(len(arrays), sum(leaf.elements for leaf in arrays), sum(leaf.bytes for leaf in arrays))


def _slot(slot: tuple[str, Covered]) -> str:
    name, covered = slot
    masked = f" ({covered.masked:,} masked)" if covered.masked else ""
    return f"{name} {covered.covered:,}/{covered.of:,}{masked}"


def _step(step: Step) -> dict[str, Any]:
    return {"folder": step.folder, "number": step.number, "state": step.state, "why": step.why or None}
