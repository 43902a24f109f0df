"""A batch by the roles of its arrays: tokens, targets, segments, positions, what the loss counts; and its documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from ...contracts.errors import ContractLintError
from ...contracts.finding import Location
from ...contracts.model import COUNTING, DataSection, PackingSection, Role
from ...contracts.uncounted import Uncounted, uncounted_id
from .padding import documents_of_mask, text_of_padding

if TYPE_CHECKING:
    import numpy

ROLES: tuple[Role, ...] = get_args(Role)
_FOR_EACH_TOKEN: tuple[Role, ...] = ("segment_ids", "positions", "attention_mask", *COUNTING)


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
        found: dict[Role, str] = {}
        for role in ROLES:
            name = next((name for name in self.data.names_of(role) if name in self.arrays), None)
            if name is not None:
                found[role] = name
        return found

    def get(self, role: Role) -> numpy.ndarray | None:
        """The array of a role; None where there is none, or where it has not the shape of the tokens.

        Lengths have the shape of the rows. A rule on shapes says what does not fit; others would only repeat it."""
        if self.tokens_hold_targets and role == "targets":
            tokens = self.arrays[self.roles["tokens"]]
            return tokens[:, 1:] if tokens.dtype.kind in "iu" else None
        name = self.roles.get(role)
        if name is None:
            return None
        array = self.arrays[name]
        if array.dtype.kind not in ("iufb" if role in (*COUNTING, "attention_mask") else "iu"):
            return None
        shape = self.shape
        if self.tokens_hold_targets and role == "tokens":
            return array[:, :-1]
        if role == "lengths":
            return array if shape is not None and array.shape == shape[:1] else None
        return array if shape is not None and array.shape == shape else None

    def name(self, role: Role) -> str:
        """What the array of a role is called."""
        if self.tokens_hold_targets and role == "targets":
            return f"{self.roles['tokens']}[:, 1:]"
        return self.roles.get(role, role)

    @cached_property
    def tokens_hold_targets(self) -> bool:
        """Whether inputs and targets are one array: tokens with a column more than every other array, and no targets.

        The step cuts them, so the targets of what it is given are the tokens from the second on."""
        tokens = self.arrays[self.roles["tokens"]] if "tokens" in self.roles else None
        if tokens is None or tokens.ndim != 2 or tokens.shape[1] < 2 or "targets" in self.roles:
            return False
        others = {self.arrays[name].shape for role, name in self.roles.items() if role in _FOR_EACH_TOKEN}
        return others == {(tokens.shape[0], tokens.shape[1] - 1)}

    @property
    def targets_shifted_by(self) -> Literal["batch", "model"] | None:
        """Who moves the targets on, as rules see them: `data.shift`; targets that are cut from the tokens are moved."""
        return "batch" if self.tokens_hold_targets else self.data.shift

    @cached_property
    def shape(self) -> tuple[int, int] | None:
        """[rows, columns] of the tokens that go in; of the targets or segments where there are no tokens."""
        for role in ("tokens", "targets", "segment_ids", "positions"):
            name = self.roles.get(role)
            if name is not None and self.arrays[name].ndim == 2:
                rows, columns = self.arrays[name].shape
                return rows, columns - self.tokens_hold_targets
        return None

    @cached_property
    def segments(self) -> numpy.ndarray | None:
        """[rows, columns]: the document of each token, 0 for padding. From segment ids; else one document a row, from
        lengths, from the attention's mask or from the padding at its ends; None where none of these is known."""
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
        if self.documents_by_mask is not None:
            return self.documents_by_mask
        tokens, pad = self.get("tokens"), self.pad_id
        if tokens is None or pad is None:
            return None
        return text_of_padding(tokens == pad, keep=int(pad == self.eos_id))

    @cached_property
    def documents_by_mask(self) -> numpy.ndarray | None:
        """[rows, columns]: what the attention's mask says of documents and padding; None where it does not."""
        mask = self.get("attention_mask")
        return None if mask is None else documents_of_mask(mask)

    @property
    def segments_are_certain(self) -> bool:
        """False where padding could only be told from text by its id."""
        said = (self.get("segment_ids"), self.get("lengths"), self.documents_by_mask)
        return any(each is not None for each in said) or self.pad_id != self.eos_id

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
        """[rows, columns] float64: how much each target counts in the loss (mask times weight; without either, 0 where
        the target is the id that is not counted); None where nothing says."""
        import numpy

        parts = [array for role in COUNTING if (array := self.get(role)) is not None]
        if parts:
            return numpy.prod([part.astype(numpy.float64) for part in parts], axis=0)
        targets = self.get("targets")
        if targets is None or self.uncounted is None:
            return None
        return self.uncounted.counted(targets).astype(numpy.float64)

    @cached_property
    def uncounted(self) -> Uncounted | None:
        """The id of targets that do not count; None where a mask says which do, and where no id does."""
        import numpy

        targets = self.get("targets")
        if targets is None or any(role in self.roles for role in COUNTING):
            return None
        declared = self.data.batch_fields.get(self.name("targets"))
        below = numpy.unique(targets[targets < 0]).tolist()
        return uncounted_id(declared.least if declared is not None else None, below)

    @property
    def counted_by(self) -> str:
        """The array that says which targets count."""
        return next((self.roles[role] for role in COUNTING if role in self.roles), self.name("targets"))

    def not_counted(self, at: str) -> str:
        """What that array has to hold where a target does not count: `0 at padding`."""
        return f"{0 if self.uncounted is None else self.uncounted.id} {at}"

    def counts(self, place: tuple[int, int]) -> str:
        """What it holds at a place that counts."""
        targets = self.get("targets")
        if self.uncounted is not None and targets is not None:
            return str(int(targets[place]))
        return "nothing" if self.counted is None else f"{float(self.counted[place]):g}"

    @property
    def packing(self) -> PackingSection:
        return self.data.packing

    @property
    def pad_id(self) -> int | None:
        return self.data.tokenizer.pad_id if self.data.tokenizer else None

    @property
    def eos_id(self) -> int | None:
        return self.data.tokenizer.eos_id if self.data.tokenizer else None

    def span_at(self, row: int, column: int) -> Span | None:
        """The document that a token stands in; None for padding, and where no documents are known."""
        return next((span for span in self.spans(row) if span.start <= column < span.stop), None)

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
