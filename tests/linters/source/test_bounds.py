"""Bounds are true of what JAX computes, and narrow where a formula says so."""

from __future__ import annotations

from math import inf

import jax.numpy as jnp
import numpy as np
import pytest
from contract_lint.linters.source.analyse import analyse_file
from contract_lint.linters.source.bounds import ANYWHERE, NOWHERE, Bounds, bounds
from contract_lint.linters.source.facts import FileFacts
from contract_lint.linters.source.program import link
from contract_lint.linters.source.text import plain_source

POINTS = np.array([-7.0, -2.5, -1.0, -1e-3, 0.0, 1e-3, 0.5, 1.0, 3.0, 6.0], np.float32)


def found(formula: str) -> Bounds:
    source = plain_source(
        "a.py", f"import jax\nimport jax.numpy as jnp\n\ndef f(x, y, eps=1e-6):\n    return {formula}\n"
    )
    facts = analyse_file(source, link([]))
    assert isinstance(facts, FileFacts)
    return bounds(facts, facts.functions[1].returns[0].value)


@pytest.mark.parametrize(
    ("formula", "low", "high"),
    [
        ("jnp.clip(x, 0.25)", 0.25, inf),
        ("jnp.clip(x, -1, 2)", -1, 2),
        ("x.clip(max=2.0)", -inf, 2),
        ("jax.lax.clamp(-1.0, x, 1.0)", -1, 1),
        ("jnp.maximum(0.5, x)", 0.5, inf),
        ("jnp.sqrt(jnp.clip(x, 4.0))", 2, inf),
        ("jnp.minimum(jnp.abs(x), 3.0)", 0, 3),
        ("-jnp.clip(x, 1.0, 2.0)", -2, -1),
        ("jnp.sum(x**2) + 1e-6", 1e-6, inf),
        ("jnp.abs(x) + jnp.square(y)", 0, inf),
        ("x * x", 0, inf),
        ("jnp.mean(jnp.clip(x, -1.0, 1.0))", -1, 1),
        ("jnp.where(x > 0, 2.0, jnp.clip(y, 1.0))", 1, inf),
        ("jnp.maximum(x, -1.0) + 1.0", 0, inf),
    ],
)
def test_bounds_are_those_of_the_formula(formula: str, low: float, high: float) -> None:
    assert found(formula) == (low, high)
    x, y = np.meshgrid(POINTS, POINTS)
    import jax

    values = np.asarray(eval(formula, {"jnp": jnp, "jax": jax, "x": jnp.asarray(x), "y": jnp.asarray(y), "eps": 1e-6}))
    assert values.min() >= np.float32(low) and values.max() <= np.float32(high)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("x + 1e-6", NOWHERE),
        ("x + eps", NOWHERE),
        ("jnp.maximum(x, eps)", NOWHERE),
        ("jnp.where(x > 0, x, 1.0)", Bounds(1.0, 1.0)),
        ("jnp.where(x > 0, x, 0.0)", Bounds(0.0, 0.0)),
        ("jnp.maximum(x, y)", NOWHERE),
        ("jnp.maximum(jnp.abs(jnp.sin(x)), y)", NOWHERE),
        ("jnp.maximum(jnp.sin(x), jnp.sin(y))", ANYWHERE),
        ("x", ANYWHERE),
        ("x + y", ANYWHERE),
        ("x + 1.0", ANYWHERE),
        ("x - 1e-6", ANYWHERE),
        ("jnp.sin(x)", ANYWHERE),
    ],
)
def test_what_is_taken_for_safe_and_what_is_not_known(formula: str, expected: Bounds) -> None:
    assert found(formula) == expected
