"""Questions about what something is, in a helper: behind them a tracer is ruled out, behind other helpers it is not."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from contract_lint.linters.source import concrete
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.text import plain_source

HELPERS = """
import jax

def is_abstract(value):
    return isinstance(value, (jax.core.Tracer, jax.ShapeDtypeStruct))

def is_positive(value):
    return value > 0
"""
USER = """
import jax
import jax.numpy as jnp
from kinds import is_abstract, is_positive

def is_known(value):
    if isinstance(value, jax.core.Tracer):
        return False
    return True

def is_ready(value):
    return not is_abstract(value)

@jax.jit
def scaled(x, limit: jax.Array):
    if {asked} and limit > 1:
        return x * limit
    return x
"""


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("not is_abstract(limit)", 0),
        ("is_known(limit)", 0),
        ("is_ready(limit)", 0),
        ("not any(map(is_abstract, (x, limit)))", 0),
        ("not any(is_abstract(each) for each in (x, limit))", 0),
        ("bool(len(x.shape))", 1),
        ("is_positive(len(x.shape))", 1),
    ],
)
def test_a_helper_that_asks_for_a_type_rules_tracers_out(asked: str, found: int) -> None:
    texts = {"kinds.py": HELPERS, "example.py": USER.format(asked=asked)}
    findings = check_sources([plain_source(path, dedent(text)) for path, text in texts.items()])
    assert [each.code for each in findings] == ["JIT103"] * found


def chain(length: int) -> str:
    arms = "".join(f"    elif x.sum() > {number}:\n        pass\n" for number in range(length))
    return f"import jax\n\n@jax.jit\ndef f(x):\n    if x.sum() > 0:\n        pass\n{arms}"


def test_each_condition_of_a_long_chain_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(facts: Any, guard: Any, depth: int = 0) -> bool:
        asked[-1] += 1
        return asks_type(facts, guard, depth)

    asks_type = concrete.asks_type
    monkeypatch.setattr(concrete, "asks_type", counted)
    for length in (30, 60, 120):
        asked.append(0)
        findings = check_sources([plain_source("example.py", chain(length))])
        assert [each.code for each in findings] == ["JIT103"] * (length + 1)
    assert asked[2] - asked[1] == 2 * (asked[1] - asked[0])
