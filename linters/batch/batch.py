"""A batch by the roles of its arrays: tokens, targets, segments, positions, what the loss counts; and its documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.model import ROLE_NAMES, DataSection, PackingSection, Role

if TYPE_CHECKING:
    import numpy

ROLES: tuple[Role, ...] = get_args(Role)
_WEIGHTS: tuple[Role, ...] = ("loss_mask", "loss_weights")


@dataclass(frozen=True, slots=True)
class Span:
    """One document's part of a row: columns `start` up to but not including `stop`."""

    segment: int
    start: int
    stop: int


@dataclass(frozen=True)
class Batch:
    """Arrays of one batch. `roles` says which array plays which part: the contract's word, else its name."""

    path: str
    arrays: Mapping[str, numpy.ndarray]
    data: DataSection = field(default_factory=DataSection)

    @cached_property
    def roles(self) -> dict[Role, str]:
        """Role -> name of the array."""
        declared = {
            entry.role: name for name, entry in self.data.batch_fields.items() if entry.role and name in self.arrays
        }
        spoken_for = {name for name, entry in self.data.batch_fields.items() if entry.role}
        found: dict[Role, str] = {}
        for role in ROLES:
            names = [name for name in ROLE_NAMES[role] if name in self.arrays and name not in spoken_for]
            if role in declared:
                found[role] = declared[role]
            elif names:
                found[role] = names[0]
        return found

    def get(self, role: Role) -> numpy.ndarray | None:
        """The array of a role; None where there is none, or where it has not the shape of the tokens.

        Lengths have the shape of the rows. A rule on shapes says what does not fit; others would only repeat it."""
        name = self.roles.get(role)
        if name is None:
            return None
        array = self.arrays[name]
        if array.dtype.kind not in ("iufb" if role in _WEIGHTS else "iu"):
            return None
        shape = self.shape
        if role == "lengths":
            return array if shape is not None and array.shape == shape[:1] else None
        return array if shape is not None and array.shape == shape else None

    def name(self, role: Role) -> str:
        """What the array of a role is called."""
        return self.roles.get(role, role)

    @cached_property
    def shape(self) -> tuple[int, int] | None:
        """[rows, columns] of the tokens; of the targets or segments where there are no tokens."""
        for role in ("tokens", "targets", "segment_ids", "positions"):
            name = self.roles.get(role)
            if name is not None and self.arrays[name].ndim == 2:
                rows, columns = self.arrays[name].shape
                return rows, columns
        return None

    @cached_property
    def segments(self) -> numpy.ndarray | None:
        """[rows, columns]: the document of each token, 0 for padding. From segment ids; else one document a row, from
        lengths or from the padding at its end; None where none of these is known."""
        import numpy

        ids = self.get("segment_ids")
        if ids is not None:
            ids = ids.astype(numpy.int64)
            lowest = ids.min(initial=0)
            return numpy.where(ids == self.data.packing.padding_segment, 0, ids - lowest + 1)
        if self.shape is None:
            return None
        columns = numpy.arange(self.shape[1])[None]
        lengths = self.get("lengths")
        if lengths is not None:
            return (columns < lengths[:, None]).astype(numpy.int64)
        tokens, pad = self.get("tokens"), self.pad_id
        if tokens is None or pad is None:
            return None
        return (columns < _used(tokens == pad, keep=int(pad == self.eos_id))[:, None]).astype(numpy.int64)

    @property
    def segments_are_certain(self) -> bool:
        """False where padding could only be told from text by its id."""
        return self.get("segment_ids") is not None or self.get("lengths") is not None or self.pad_id != self.eos_id

    @cached_property
    def starts(self) -> numpy.ndarray | None:
        """[rows, columns]: whether a document begins there."""
        import numpy

        segments = self.segments
        if segments is None:
            return None
        before = numpy.pad(segments[:, :-1], ((0, 0), (1, 0)))
        return (segments != 0) & (segments != before)

    @cached_property
    def counted(self) -> numpy.ndarray | None:
        """[rows, columns] float64: how much each target counts in the loss (mask times weight); None without either."""
        import numpy

        parts = [array for role in ("loss_mask", "loss_weights") if (array := self.get(role)) is not None]
        if not parts:
            return None
        return numpy.prod([part.astype(numpy.float64) for part in parts], axis=0)

    @property
    def packing(self) -> PackingSection:
        return self.data.packing

    @property
    def pad_id(self) -> int | None:
        return self.data.tokenizer.pad_id if self.data.tokenizer else None

    @property
    def eos_id(self) -> int | None:
        return self.data.tokenizer.eos_id if self.data.tokenizer else None

    def spans(self, row: int) -> list[Span]:
        """The documents of one row from left to right. Raises ContractLintError for a row that is not there."""
        import numpy

        rows = self.shape[0] if self.shape else 0
        if not 0 <= row < rows:
            raise ContractLintError(f"has no row {row}: it has {rows}", Location(self.path), "rows count from 0")
        if self.segments is None:
            return []
        line = self.segments[row]
        edges = [0, *(numpy.flatnonzero(line[1:] != line[:-1]) + 1).tolist(), len(line)]
        ids = self.get("segment_ids")
        return [
            Span(int(line[start] if ids is None else ids[row, start]), start, stop)
            for start, stop in pairwise(edges)
            if start < stop and line[start]
        ]


def _used(padding: numpy.ndarray, keep: int) -> numpy.ndarray:
    """[rows]: columns before the padding at the end; `keep` of it are text (an end that looks like padding)."""
    import numpy

    trailing = numpy.logical_and.accumulate(padding[:, ::-1], axis=1).sum(axis=1)
    return padding.shape[1] - numpy.maximum(trailing - keep, 0)
