"""The fix is safe only where no other name or container would have seen the assignment."""

from __future__ import annotations

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.rules.array_item_assignment import RULE
from contract_lint.linters.source.text import plain_source

FUNCTION = """
import jax.numpy as jnp

def f(kept):
    y = jnp.zeros(3)
    {before}
    y[2] = 9.0
    return y
"""


@pytest.mark.parametrize(
    ("before", "safe"),
    [
        ("pass", True),
        ("total = y.sum()", True),
        ("pair = (1, 2)", True),
        ("other = y", False),
        ("kept = [y]", False),
        ("kept = {'y': (1, y)}", False),
        ("kept.append(y)", False),
        ("kept['y'] = y", False),
        ("kept.state = [y, y]", False),
    ],
)
def test_an_array_that_is_also_elsewhere_has_no_safe_fix(before: str, safe: bool) -> None:
    (found,) = check_sources([plain_source("a.py", FUNCTION.format(before=before))], selected=[RULE])
    assert found.fix is not None and found.fix.safe is safe
