"""What the versions that a project declares mean for modules in closures."""

from __future__ import annotations

import pytest
from contract_lint.linters.source.analyse import check_sources
from contract_lint.linters.source.options import SourceOptions
from contract_lint.linters.source.rules.module_closure import LATER, RULE
from contract_lint.linters.source.text import plain_source

WRITES = """
from flax import nnx

dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(0))

@nnx.jit
def f(x):
    return dropout(x)
"""


@pytest.mark.parametrize(
    ("declared", "confidence"),
    [("", "certain"), (">=0.10", "certain"), ("==0.12.12", "certain"), (f">={LATER}", "likely"), (">=1", "likely")],
)
def test_what_no_release_was_measured_of_is_likely(declared: str, confidence: str) -> None:
    options = SourceOptions(requirements=(("flax", declared),) if declared else ())
    (found,) = check_sources([plain_source("a.py", WRITES)], options, [RULE])
    assert found.confidence == confidence
