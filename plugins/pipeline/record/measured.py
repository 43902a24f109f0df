"""Which of a record's metrics are numbers that a run gave."""

from __future__ import annotations

from collections.abc import Mapping

from ....contracts.record import Metric

TAKEN_UP = "taken_up"
"""Behind which step a run was taken up: earlier versions wrote it among the metrics, and their records hold."""


def measured(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """All that were measured."""
    return {name: metric for name, metric in metrics.items() if name != TAKEN_UP}
