"""What the probe finds of steps whose fault the step and its terms share, or whose labels alone say what counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from contract_lint.contracts.semantics import SemanticsFacts
from contract_lint.contracts.uncounted import Uncounted

Probed = Callable[..., list[SemanticsFacts]]
ROWS, WIDTH, INPUTS, CLASSES = 8, 6, 5, 4


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory, probed: Probed) -> dict[tuple[str, bool], SemanticsFacts]:
    """Two steps, each right and with its fault, in one child process."""
    rng = np.random.default_rng(0)
    data = tmp_path_factory.mktemp("probe") / "data.npz"
    ids = rng.integers(0, CLASSES, (ROWS, WIDTH))
    labels = np.where(rng.random(ids.shape) < 0.8, ids, -100)
    np.savez(data, x=rng.normal(size=(ROWS, WIDTH, INPUTS)), labels=labels, w=rng.normal(size=(INPUTS, CLASSES)))
    asked = [(case, fault, str(data), {}) for case in ("labels", "router") for fault in (False, True)]
    return {(case, fault): each for (case, fault, *_), each in zip(asked, probed(asked), strict=True)}


def length(facts: SemanticsFacts, vector: str) -> float:
    fact = facts.accumulations[-1]
    at = fact.vectors.index(vector)
    return fact.gram[at][at]


def test_labels_tell_what_counts(probes: dict[tuple[str, bool], SemanticsFacts]) -> None:
    for fault in (False, True):
        facts = probes["labels", fault]
        assert facts.precision == "float64" and facts.mask == "batch/labels" and facts.sizes is not None
        assert facts.uncounted == Uncounted(id=-100, inferred=True)
        assert facts.sizes.tokens == facts.terms["xent"].denominator
        for fact in facts.accumulations[1:3]:
            assert len(set(fact.tokens)) == fact.microbatches, "an even mask hides a mean of means"


def test_a_term_without_a_gradient_has_another_value_elsewhere(
    probes: dict[tuple[str, bool], SemanticsFacts],
) -> None:
    good, bad = probes["router", False], probes["router", True]
    assert length(bad, "whole:balance") == length(bad, "parts:balance") == 0 < length(good, "whole:balance")
    assert bad.terms == good.terms and bad.elsewhere == good.elsewhere
    assert abs(bad.elsewhere["balance"] / bad.terms["balance"].sum - 1) > 1e-4
