"""What is still to be explained on one side: rows with the executions that no rewrite has accounted for yet."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ..collectives import Collective, CollectiveLedger
from ..mesh_axes import Axes
from .invariance import Unchanged, is_loop_invariant
from .read_as import read_as
from .zero_padded import is_zero_padded

# Rows that are tried as partners of one row where a rewrite has to search: more than the loops of a training step hold,
# and a bound, so that a hostile program costs linear time.
MAX_CANDIDATES = 256

Group = TypeVar("Group", bound=Hashable)


class Key(NamedTuple):
    """What makes two collectives the same to the network: kind, axes (or groups), elements of one execution, dtype."""

    kind: str
    axes: Axes | tuple[tuple[int, ...], ...]
    each: int
    dtype: str


@dataclass(slots=True, eq=False)
class Entry:
    """A row and how many of its executions are left."""

    row: Collective
    key: Key
    left: int
    _bodies: Unchanged = field(default_factory=dict, repr=False)
    _padded: bool | None = field(default=None, repr=False)
    _invariant: bool | None = field(default=None, repr=False)
    _read_as: str | None = field(default=None, repr=False)

    @property
    def whole(self) -> bool:
        """Whether no execution was taken yet."""
        return self.left == self.row.count

    @property
    def padded(self) -> bool:
        """Whether it sums shards that are padded with zeros."""
        if self._padded is None:
            self._padded = is_zero_padded(self.row)
        return self._padded

    @property
    def invariant(self) -> bool:
        """Whether it stands in a loop and communicates the same value in every round."""
        if self._invariant is None:
            instruction = self.row.instruction
            self._invariant = (
                self.row.loop_depth > 0 and instruction is not None and is_loop_invariant(instruction, self._bodies)
            )
        return self._invariant

    @property
    def read_as(self) -> str:
        """The narrower type that every reader converts its result to; empty where there is none."""
        if self._read_as is None:
            self._read_as = (self.row.instruction is not None and read_as(self.row.instruction)) or ""
        return self._read_as

    def take(self, executions: int) -> Share:
        self.left -= executions
        return Share(self.row, executions)

    def share(self, executions: int) -> Share:
        """Executions that were taken before."""
        return Share(self.row, executions)


@dataclass(frozen=True, slots=True)
class Share:
    """Some executions of a row."""

    row: Collective
    executions: int

    @property
    def elements(self) -> int:
        return self.row.elements // self.row.count * self.executions


@dataclass(slots=True)
class Pool:
    """The rows of one ledger."""

    entries: list[Entry]

    @classmethod
    def of(cls, ledger: CollectiveLedger) -> Pool:
        bodies: Unchanged = {}
        return cls([Entry(row, key_of(row), row.count, bodies) for row in ledger.rows if row.count])

    def open(self) -> Iterator[Entry]:
        """Entries with executions left, in program order."""
        return (entry for entry in self.entries if entry.left)

    def by(self, group: Callable[[Entry], Group]) -> dict[Group, list[Entry]]:
        """The open entries in groups."""
        groups: dict[Group, list[Entry]] = {}
        for entry in self.open():
            groups.setdefault(group(entry), []).append(entry)
        return groups


def key_of(row: Collective) -> Key:
    """Rows whose axes have no name are told apart by their groups."""
    axes = row.axes if isinstance(row.axes, tuple) else row.groups
    return Key(row.kind, axes, row.elements // row.count, row.dtype)


def shares_of(entries: Iterable[Entry], executions: int) -> tuple[Share, ...]:
    """Takes that many executions from the entries, first come first served."""
    taken = []
    for entry in entries:
        amount = min(entry.left, executions)
        if amount:
            taken.append(entry.take(amount))
            executions -= amount
    return tuple(taken)
