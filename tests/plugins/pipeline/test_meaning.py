"""The table of measured terms: promised weight and normaliser beside the ratio, at every number of microbatches."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from contract_lint.contracts.model import ObjectiveSection
from contract_lint.contracts.semantics import SemanticsFacts
from contract_lint.contracts.uncounted import Uncounted
from contract_lint.linters.semantics.diagnosis import Diagnosis
from contract_lint.plugins.pipeline.judged import _probed as probed
from contract_lint.plugins.pipeline.meaning import meaning
from contract_lint.plugins.pipeline.tables import MeaningTable

sys.path.insert(0, str(Path(__file__).parents[2] / "linters" / "semantics"))

from measured import COUNTS, WHOLE, Toy, facts, groups

OBJECTIVE = ObjectiveSection.model_validate(
    {
        "terms": [
            {"name": "cross_entropy", "weight": 1.0, "normaliser": "global_valid_tokens"},
            {"name": "balance", "weight": 0.01, "normaliser": "microbatches"},
        ]
    }
)


def tabulated(found: SemanticsFacts) -> MeaningTable:
    evidence: Any = SimpleNamespace(diagnosis=Diagnosis(found, OBJECTIVE))
    table = meaning(evidence)
    assert table is not None
    return table


def verdicts(table: MeaningTable, term: str) -> list[str]:
    return [row.verdict for row in table.terms if row.term == term]


def balance_summed(toy: Toy, count: int) -> Any:
    return toy.promised(count) + (count - 1) * (
        toy.promised(count) - toy.gradient("cross_entropy", WHOLE) / toy.tokens(WHOLE)
    )


def mean_of_means(toy: Toy, count: int) -> Any:
    whole = toy.gradient("cross_entropy", WHOLE) / toy.tokens(WHOLE)
    means = sum(toy.gradient("cross_entropy", part) / toy.tokens(part) for part in groups(count)) / count
    return toy.promised(count) - whole + means


def test_a_kept_promise_is_a_ratio_of_one_everywhere() -> None:
    table = tabulated(facts())
    rows = [(row.term, row.weight, row.normaliser, row.microbatches) for row in table.terms]
    assert rows == [(term.name, term.weight, term.normaliser, count) for term in OBJECTIVE.terms for count in COUNTS]
    assert all(row.verdict == "ok" and row.ratio == pytest.approx(1, abs=2e-6) for row in table.terms)
    assert [row.microbatches for row in table.losses] == list(COUNTS)
    assert all(row.equal_digits == 9 for row in table.losses)


@pytest.mark.parametrize("inferred", [True, False])
def test_the_verdict_names_an_id_that_was_inferred(inferred: bool) -> None:
    found = facts(mask="batch/labels", uncounted=Uncounted(id=-100, inferred=inferred))
    evidence: Any = SimpleNamespace(diagnosis=Diagnosis(found, OBJECTIVE))
    terms, *more = probed([evidence])
    assert terms == "2 terms as promised with 1, 2, 4 and 8 microbatches (float64)"
    assert [each.partition(":")[0] for each in more] == ["-100 is taken for targets that do not count"] * inferred


def test_a_factor_stands_beside_its_term_alone() -> None:
    table = tabulated(facts(balance_summed))
    assert set(verdicts(table, "cross_entropy")) == {"ok"}
    assert verdicts(table, "balance") == ["ok", "differs", "differs", "differs"]
    assert [row.ratio for row in table.terms if row.term == "balance"] == pytest.approx(COUNTS)


def test_another_sum_has_no_ratio_to_the_promised_one() -> None:
    table = tabulated(facts(mean_of_means))
    assert verdicts(table, "cross_entropy") == ["ok", "differs", "differs", "differs"]
    assert all(row.ratio is None for row in table.terms if row.verdict == "differs")
    assert set(verdicts(table, "balance")) == {"ok"}


def test_a_gradient_of_something_else_is_told_of_no_term() -> None:
    table = tabulated(facts(lambda toy, count: toy.promised(count) + 0.001))
    assert {row.verdict for row in table.terms} == {"unexplained"}


def test_a_loss_that_is_another_shows_where_it_parts() -> None:
    assert all(row.equal_digits < 2 for row in tabulated(facts(divisor=128.0)).losses)


def test_nothing_measured_is_no_table() -> None:
    unmeasured: Any = SimpleNamespace(diagnosis=Diagnosis(facts(accumulations=[]), OBJECTIVE))
    unprobed: Any = SimpleNamespace(diagnosis=None)
    assert meaning(unmeasured) is None and meaning(unprobed) is None
