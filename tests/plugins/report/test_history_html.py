"""The page of `history plot`: what is no number is a gap with a mark, and what is left out is said."""

from __future__ import annotations

import math
import re

import pytest
from contract_lint.contracts.record import summarised
from contract_lint.plugins.pipeline.record.index import Row, row_of
from contract_lint.plugins.report import history_html as page_module
from contract_lint.plugins.report.history_html import fitting, history_html, metric_names

from ...linters.record.small_record import small

NAN = math.nan


def rows(*losses: list[float], name: str = "loss", record: str = "small") -> list[Row]:
    """A record for each list of values."""
    return [
        row_of(small(name=record, tool=str(n), metrics={name: each}), "f", ())
        for n, each in enumerate(map(summarised, losses))
    ]


def lines(page: str) -> list[int]:
    """How many points each drawn line has."""
    return [len(points.split()) for points in re.findall(r'<polyline [^>]* points="([^"]*)"', page)]


def test_a_line_has_a_gap_where_the_last_value_is_not_finite() -> None:
    page = history_html(rows([3.0], [2.0], [2.0, NAN], [1.0], [math.inf], [1.0, NAN, 0.5]))
    assert lines(page) == [2, 1, 1]
    assert "<p class=dim>in 2 of 6 records the last value is not finite (&times;)</p>" in page
    assert page.count("&times;<title>the last value is not finite, record ") == 2
    assert page.count("<title>last ") == 4 and page.count(", 1 value not finite, record ") == 1
    page = history_html(rows([3.0], [2.0], [1.0]))
    assert lines(page) == [3] and "finite" not in page and "&times;" not in page


def test_of_times_the_mean_decides() -> None:
    page = history_html(rows([1.0, 2.0], [NAN, NAN], [1.0, NAN], name="seconds"))
    assert lines(page) == [1, 1] * 4
    assert "in 1 of 3 records no value is finite" in page


def test_a_metric_without_any_finite_value_is_told() -> None:
    page = history_html(rows([NAN], [NAN]))
    assert "<h3>loss</h3>" in page and "in 2 of 2 records the last value is not finite</p>" in page
    assert "<svg" not in page
    page = history_html(rows([1.0]), ("los",))
    assert "no record has a metric that --metric names" in page
    assert "no record has a metric" not in history_html(rows([1.0]), ("los*",))


def test_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "POINTS", 3)
    monkeypatch.setattr(page_module, "SHOWN", 1)
    losses = [[float(n)] for n in range(12)]
    page = history_html(rows(*losses))
    assert "the newest 3 of 12 records</span></h2>" in page and lines(page) == [3]
    assert "The records <span class=dim>the newest 10 of 12 records" in page
    assert "newest" not in history_html(rows(*losses[:3]))


def test_a_long_name_breaks() -> None:
    """It has no blank, and would make the whole page as wide as itself."""
    page = history_html(rows([1.0], name="m" * 300, record="n" * 400))
    for tag in ("h2", "h3"):
        assert re.search(rf"[\s,]{tag}[\s,][^}}]*overflow-wrap: anywhere", page), tag


def test_behind_which_step_a_run_was_taken_up_is_no_curve() -> None:
    old = rows([20.0], name="taken_up") + rows([3.0])
    assert metric_names(old) == ["loss"] and not fitting(old, ["taken*"]) and fitting(old, ["lo*"])
    page = history_html(old)
    assert "<h3>loss</h3>" in page and "taken_up" not in page
