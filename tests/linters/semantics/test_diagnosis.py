"""The gradient beside the promised one, with each term divided by what is promised."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from contract_lint.contracts.model import ObjectiveSection
from contract_lint.contracts.semantics import TermSum
from contract_lint.linters.semantics.diagnosis import Diagnosis

sys.path.insert(0, str(Path(__file__).parent))

from measured import WHOLE, Toy, facts

EXPERTS = 1000.0
OBJECTIVE = ObjectiveSection.model_validate(
    {
        "terms": [
            {"name": "cross_entropy", "weight": 1.0, "normaliser": "global_valid_tokens"},
            {"name": "balance", "weight": 100.0, "normaliser": "experts"},
        ]
    }
)


def promised(toy: Toy, count: int) -> np.ndarray:
    cross_entropy = toy.gradient("cross_entropy", WHOLE) / toy.tokens(WHOLE)
    return cross_entropy + 100.0 * toy.gradient("balance", WHOLE) / EXPERTS


def test_the_reference_of_the_cosine_is_divided_by_the_terms_own_number() -> None:
    toy = Toy()
    terms = {
        "cross_entropy": TermSum(sum=toy.value("cross_entropy", WHOLE), denominator=toy.tokens(WHOLE)),
        "balance": TermSum(sum=toy.value("balance", WHOLE), denominator=EXPERTS),
    }
    measured = Diagnosis(facts(promised, terms=terms), OBJECTIVE).measured
    assert [each.cosine for each in measured] == pytest.approx([1.0] * len(measured), abs=1e-9)
    assert all(found.ratio == pytest.approx(1.0) for each in measured for found in each.found)
