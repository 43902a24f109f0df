"""What tells that a value is an array, and uses of parameters that only tracing shows to be wrong."""

from __future__ import annotations

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.text import plain_source

IMPORTS = "import jax\nimport jax.numpy as jnp\n"


def found(code: str) -> list[str]:
    return [each.code for each in check_sources([plain_source("example.py", IMPORTS + code)])]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("return max(x, y)", ["JIT103"]),
        ("return min(x, 0.0)", ["JIT103"]),
        ("return 0 < x < 3", ["JIT103"]),
        ("return 1 if 0 < x < 3 else 2", ["JIT103"]),
        ("return max(x.ndim, n)", []),
        ("return jnp.maximum(x, y)", []),
        ("return [1, 2, 3][x]", ["JIT113"]),
        ("sizes = (1, 2)\n    return sizes[x.sum()]", ["JIT113"]),
        ("return [1, 2, 3][x.ndim], (x, y)[n], [x, y][0]", []),
        ("return {1: x}[n]", []),
    ],
)
def test_uses_of_parameters(body: str, codes: list[str]) -> None:
    assert found(f"@jax.jit(static_argnums=2)\ndef f(x, y, n):\n    {body}\n") == codes


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("total = x.sum()\n    x[0] = 3", ["JIT114"]),
        ("x[0] = 3", []),
        ("total = x.get('a')\n    x[0] = 3", []),
        ("total = y.sum()\n    x[0] = 3", []),
    ],
)
def test_parameters_that_are_used_as_arrays(body: str, codes: list[str]) -> None:
    assert found(f"@jax.jit\ndef f(x, y):\n    {body}\n    return x\n") == codes


@pytest.mark.parametrize(
    ("stored", "codes"),
    [("jnp.zeros(4)", ["JIT114"]), ("[0] * 4", []), ("jax.device_get(jnp.zeros(4))", []), ("made()", [])],
)
def test_arrays_of_an_object(stored: str, codes: list[str]) -> None:
    made = f"class S:\n    def __init__(self):\n        self.buf = {stored}\n"
    assert found(f"{made}    def push(self, v):\n        self.buf[0] = v\n") == codes
