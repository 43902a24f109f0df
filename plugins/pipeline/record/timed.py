"""Rows of metrics as they come, each with the seconds since the one before: the time of a step, as one waits for it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ....contracts.record import Metric, StepRange
from .measured import TAKEN_UP
from .metrics import columns

SECONDS = "seconds"


class Timed:
    """An iterator over rows that keeps them. The first row of a run has no time: it waits for the compiler."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = rows
        self.rows: list[dict[str, Any]] = []

    def __iter__(self) -> Iterator[dict[str, Any]]:
        before: float | None = None
        for row in self._rows:
            now = time.perf_counter()
            timed = dict(row)
            if "step" in row:
                if before is not None:
                    timed[SECONDS] = now - before
                before = now
            self.rows.append(timed)
            yield timed

    def steps(self) -> StepRange | None:
        """The steps that the run went over, None where it finished none."""
        seen = [row["step"] for row in self.rows if "step" in row]
        return StepRange(first=seen[0], last=seen[-1]) if seen else None

    def metrics(self) -> dict[str, Metric]:
        """What the rows so far sum up to. Behind which step a run was taken up is no measurement."""
        return columns(row for row in self.rows if TAKEN_UP not in row)
