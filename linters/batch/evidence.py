"""What the rules on a batch are given: its arrays, the promise, and where a key of the promise stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...contracts.finding import Finding, Location
from ...contracts.load import LoadedContract
from ...contracts.model import Contract, DataSection, Role
from ...contracts.probe import ProbeFacts
from ..rule import Rule
from .batch import Batch

if TYPE_CHECKING:
    import numpy


@dataclass
class BatchEvidence:
    """One batch, and the contract it is held to (None: only what every batch keeps)."""

    batch: Batch
    loaded: LoadedContract | None = None
    probe: ProbeFacts | None = None
    """What a step did with it, where one was probed."""

    @property
    def contract(self) -> Contract | None:
        return self.loaded.contract if self.loaded is not None else None

    @property
    def data(self) -> DataSection:
        return self.batch.data

    def symbols(self) -> dict[str, int]:
        """Sizes that the contract itself gives: `batch` and `sequence`."""
        found: dict[str, int] = {}
        if self.contract is not None:
            if self.contract.batch is not None:
                found["batch"] = self.contract.batch.size
            sequence = getattr(self.contract.model, "sequence", None)
            if sequence is not None:
                found["sequence"] = sequence
        return found

    @property
    def inferred(self) -> tuple[str, ...]:
        """The id of targets that do not count, as a line of evidence, where no contract gives it."""
        uncounted = self.batch.uncounted
        if uncounted is None or not uncounted.inferred:
            return ()
        return (uncounted.said(self.batch.name("targets")),)

    def finding(self, rule: Rule, message: str, *, subject: str, key: str | None = None, **fields: Any) -> Finding:
        """A finding on the file; `key` is the promise it breaks, named with its place where it is written down."""
        if key is not None and self.loaded is not None:
            place = self.loaded.place(key)
            fields["evidence"] = (*fields.pop("evidence", ()), f"promised at {place} {key}")
        return rule.finding(message, subject=subject, key=key, location=Location(self.batch.path), **fields)

    def field_key(self, role: Role) -> str:
        """The contract's key of the array of a role."""
        return f"{self.data.fields_key}.{self.batch.name(role)}"


def first(where: numpy.ndarray) -> tuple[int, int]:
    """The first true element in reading order; there must be one."""
    row, column = divmod(int(where.argmax()), where.shape[1])
    return row, column


def at(place: Sequence[int]) -> str:
    """`row 0, column 6`."""
    return f"row {place[0]}, column {place[1]}" if len(place) > 1 else f"row {place[0]}"


def of_all(count: int, largest: float) -> str:
    """`change 0.5`, of one loss; else `largest change of 3: 0.5`."""
    return f"change {largest:.4g}" if count == 1 else f"largest change of {count:,} such: {largest:.4g}"


def rows_of(where: numpy.ndarray, most: int = 8) -> list[str]:
    """`row 3: columns 6 to 9, 12`, one line for each row that has a true element, for the first rows."""
    import numpy

    lines = []
    for row in numpy.flatnonzero(where.any(axis=1))[: most + 1]:
        columns = numpy.flatnonzero(where[row])
        runs = numpy.split(columns, numpy.flatnonzero(numpy.diff(columns) > 1) + 1)
        shown = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
        more = f" and {len(shown) - most} more" if len(shown) > most else ""
        lines.append(f"row {row}: column{'s' * (len(columns) > 1)} {', '.join(shown[:most])}{more}")
    if len(lines) > most:
        lines[most:] = [f"and {int(where.any(axis=1).sum()) - most:,} more rows"]
    return lines
