"""Which tokens of a batch a probe changes: so few that each is one run, and where a leak would show."""

from __future__ import annotations

from dataclasses import dataclass

from .batch import Batch

MOST = 9


@dataclass(frozen=True, slots=True)
class Change:
    """Another token for the one at a column of a row."""

    row: int
    column: int
    token: int


def changes(batch: Batch, most: int = MOST) -> list[Change]:
    """Changes in the row with most documents: the first token of each (later documents must not see it), then one in
    the middle of each (what stands before it must not), and one of padding (nobody may). None without tokens."""
    import numpy

    tokens, segments = batch.get("tokens"), batch.segments
    if tokens is None or not tokens.size:
        return []
    if segments is None:
        spans, row = [(0, tokens.shape[1])], 0
    else:
        row = 0 if batch.starts is None else int(batch.starts.sum(axis=1).argmax())
        spans = [(span.start, span.stop) for span in batch.spans(row)]
    columns = [start for start, _ in spans][: most // 2]
    columns += [(start + stop) // 2 for start, stop in spans if stop - start > 1]
    columns = list(dict.fromkeys(columns))[: most - 1]
    if segments is not None and (padding := numpy.flatnonzero(segments[row] == 0)).size:
        columns.append(int(padding[0]))
    special = {batch.pad_id, batch.eos_id, batch.data.tokenizer.bos_id if batch.data.tokenizer else None}
    known = [each for each in numpy.unique(tokens).tolist() if each not in special]
    return [Change(row, column, _another(int(tokens[row, column]), known)) for column in columns]


def _another(token: int, known: list[int]) -> int:
    """A token of the batch's text that is not this one; its neighbour where the batch has but one."""
    return next((each for each in known if each != token), token - 1 if token else 1)
