"""Facts on the meaning of a step survive being written and read, numbers that are none included."""

from __future__ import annotations

import math

import pytest
from contract_lint.contracts.semantics import SemanticsFacts, TermSum


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_term_that_is_no_number_is_read_again(value: float) -> None:
    facts = SemanticsFacts(precision="float64", terms={"balance": TermSum(sum=value, denominator=1.0)})
    read = SemanticsFacts.model_validate_json(facts.model_dump_json()).terms["balance"].sum
    assert read == value or (math.isnan(read) and math.isnan(value))
