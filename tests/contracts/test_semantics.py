"""Facts on the meaning of a step survive being written and read, numbers that are none included."""

from __future__ import annotations

import math

import pytest
from contract_lint.contracts.model.data_fields import FieldSection
from contract_lint.contracts.semantics import SemanticsFacts, TermSum


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_term_that_is_no_number_is_read_again(value: float) -> None:
    facts = SemanticsFacts(precision="float64", terms={"balance": TermSum(sum=value, denominator=1.0)})
    read = SemanticsFacts.model_validate_json(facts.model_dump_json()).terms["balance"].sum
    assert read == value or (math.isnan(read) and math.isnan(value))


@pytest.mark.parametrize(("least", "ignored"), [(-100, -100), (-1.0, -1), (-0.5, None), (-math.inf, None), (0, None)])
def test_only_a_whole_number_below_0_is_an_id_that_does_not_count(least: float, ignored: int | None) -> None:
    assert FieldSection(range=[least, 50]).ignored_id == ignored


def test_a_field_without_a_range_promises_no_such_id() -> None:
    assert FieldSection().ignored_id is None
