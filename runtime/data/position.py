"""The progress record of a run, made from its iterator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .cursor import cursor_of
from .pipeline import described


def data_position(
    iterator: Any,
    loader: Any = None,
    *,
    step: int,
    tokens: int,
    sources: Mapping[str, Mapping[str, int]],
    dataset: str,
    tokenizer: str,
    mixture: Mapping[str, float],
    seed: int,
    batch: int,
    shards: int = 1,
    prefetch: int = 0,
    cursor: Any = None,
) -> dict[str, Any]:
    """The twelve fields of a progress record, as JSON values: save them beside the checkpoint of the same step.

    iterator: the one that gave the last batch; its `get_state()` is the cursor unless `cursor` is given. loader: what
    it iterates over, whose stages are written down (a grain Dataset or DataLoader). sources: for each source its
    `records`, `tokens` and `epoch` so far. dataset: the root of the data manifest; tokenizer: the sha256 of its files.
    """
    return {
        "step": step,
        "tokens": tokens,
        "sources": {name: dict(counts) for name, counts in sources.items()},
        "cursor": cursor_of(iterator) if cursor is None else cursor,
        "dataset": dataset,
        "tokenizer": tokenizer,
        "mixture": dict(mixture),
        "seed": seed,
        "sampler": described(iterator if loader is None else loader),
        "batch": batch,
        "shards": shards,
        "prefetch": prefetch,
    }
