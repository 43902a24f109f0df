"""Which tokens and targets of a batch a probe changes: so few that each is one run, and where a fault would show."""

from __future__ import annotations

from dataclasses import dataclass

from .batch import Batch

MOST = 9
TARGETS = 2


@dataclass(frozen=True, slots=True)
class Change:
    """Another token, or target, for the one at a column of a row."""

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
    return [Change(row, column, _another(int(tokens[row, column]), _text(batch))) for column in columns]


def target_changes(batch: Batch, most: int = TARGETS) -> list[Change]:
    """Other targets, one in each of some rows, where the loss counts them and those beside them. None without
    targets."""
    import numpy

    targets, tokens = batch.get("targets"), batch.get("tokens")
    if targets is None or tokens is None or not targets.size:
        return []
    counted = numpy.ones(targets.shape, bool) if batch.counted is None else batch.counted > 0
    inside = counted.copy()
    inside[:, 1:] &= counted[:, :-1]
    inside[:, :-1] &= counted[:, 1:]
    inside[:, [0, -1]] = False
    found: list[Change] = []
    for row in numpy.flatnonzero(inside.any(axis=1)).tolist():
        columns = numpy.flatnonzero(inside[row])
        column = int(columns[len(columns) // 2])
        found.append(Change(row, column, _another(int(targets[row, column]), _text(batch))))
        if len(found) == most:
            break
    return found


def _text(batch: Batch) -> list[int]:
    """The tokens that the batch holds, without those that mark something."""
    import numpy

    special = {batch.pad_id, batch.eos_id, batch.data.tokenizer.bos_id if batch.data.tokenizer else None}
    tokens = batch.get("tokens")
    return [] if tokens is None else [each for each in numpy.unique(tokens).tolist() if each not in special]


def _another(token: int, known: list[int]) -> int:
    """A token of the batch's text that is not this one; its neighbour where the batch has but one."""
    return next((each for each in known if each != token), token - 1 if token else 1)
