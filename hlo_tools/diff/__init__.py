"""Two programs compared in meaning, whatever their instructions are called and in whatever order they stand."""

from __future__ import annotations

from .change import Change
from .compare import Diff, Side, compare
from .totals import METRICS, Metric

__all__ = ["METRICS", "Change", "Diff", "Metric", "Side", "compare"]
