"""Measured terms in a report: inside its width, a term named once, safe in a terminal and in a comment."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from contract_lint.plugins.pipeline.report import Report
from contract_lint.plugins.pipeline.tables import LossRow, MeaningTable, TermRow
from contract_lint.plugins.report.json import render as as_json
from contract_lint.plugins.report.markdown import render as markdown
from contract_lint.plugins.report.text import render

COUNTS = (1, 2, 4, 8)


def term(name: str, count: int, ratio: float | None = 1.0) -> TermRow:
    return TermRow(
        term=name,
        weight=1e-4,
        normaliser="global_valid_tokens",
        microbatches=count,
        devices=8,
        ratio=ratio,
        tolerance=2e-6,
        verdict="differs" if ratio != 1 else "ok",
    )


def with_terms(report: Report, *rows: TermRow) -> Report:
    losses = tuple(
        LossRow(microbatches=n, devices=8, found=6.801125, promised=6.801125, equal_digits=9) for n in COUNTS
    )
    table = MeaningTable(precision="float64", terms=rows, losses=losses)
    return replace(report, tables=(replace(report.tables[0], meaning=table), *report.tables[1:]))


@pytest.mark.parametrize("width", [80, 120])
def test_terms_and_loss_fit(clean: Report, width: int) -> None:
    names = ("cross_entropy", "z_loss")
    rows = [
        term(name, count, 0.001953125 if name == "z_loss" and count > 1 else 1.0) for name in names for count in COUNTS
    ]
    text = render(with_terms(clean, *rows), width)
    assert max(map(len, text.splitlines())) <= width
    shown = text[text.index("Terms in float64") :]
    assert all(shown.count(name) == 1 for name in names)
    assert shown.count("0.001953  differs") == 3 and shown.count("1  ok") == 5
    assert "6.80112  6.80112" in " ".join(shown.split(" ")).replace("   ", "  ")


def test_a_name_of_any_length_stays_inside(clean: Report, broken: Report) -> None:
    hostile = next(each.message for each in broken.findings if "\x1b" in each.message)
    for width in (80, 120):
        text = render(with_terms(clean, term(hostile * 3, 2, None)), width)
        assert max(map(len, text.splitlines())) <= width and "\x1b" not in text
    comment = markdown(with_terms(clean, term(hostile, 2, None)))
    assert "<script>" not in comment and "@everyone" not in comment


def test_every_row_is_in_json_and_in_a_comment(clean: Report) -> None:
    made = with_terms(clean, *[term("cross_entropy", count) for count in COUNTS])
    found = json.loads(as_json(made))["targets"][0]["meaning"]
    assert [row["microbatches"] for row in found["terms"]] == list(COUNTS)
    assert set(found["terms"][0]) >= {"term", "weight", "normaliser", "microbatches", "devices", "ratio", "verdict"}
    assert [row["equal_digits"] for row in found["losses"]] == [9] * 4
    comment = markdown(made)
    assert comment.count("| cross\\_entropy | ") == 4 and "| equal digits |" in comment


def test_a_step_that_was_not_probed_has_no_such_table(clean: Report) -> None:
    assert "Terms in" not in render(clean, 80) and "equal digits" not in markdown(clean)
    assert json.loads(as_json(clean))["targets"][0]["meaning"] is None
