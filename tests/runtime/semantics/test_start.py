"""How a parameter starts is told from its numbers, where there are enough of them."""

from __future__ import annotations

import numpy as np
import pytest
from contract_lint.runtime.semantics.start import described


def truncated(rng: np.random.Generator, size: int) -> np.ndarray:
    drawn = rng.standard_normal(4 * size)
    return drawn[np.abs(drawn) < 2][:size]


@pytest.mark.parametrize("seed", range(5))
def test_what_it_was_drawn_from(seed: int) -> None:
    rng = np.random.default_rng(seed)
    told = {
        "normal": (0.05 * rng.standard_normal((64, 128)), 0.05),
        "uniform": (rng.uniform(-1, 1, size=8192), 3**-0.5),
        "truncated normal": (truncated(rng, 16384), 0.88),
    }
    for kind, (array, deviation) in told.items():
        found, _, size = described(array).rpartition(" ")
        assert found == kind and float(size) == pytest.approx(deviation, rel=0.03)
    assert described(3 + 0.05 * rng.standard_normal(8192)).endswith(" around 3")


def test_constants() -> None:
    assert [described(np.full(3, value)) for value in (0.0, 1.0, 0.25)] == ["zeros", "ones", "constant 0.25"]
    assert described(np.zeros((0, 4))) == "empty"


def test_few_numbers_do_not_tell() -> None:
    assert described(np.random.default_rng(0).standard_normal(64)).startswith("drawn ")
