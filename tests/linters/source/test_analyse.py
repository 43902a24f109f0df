"""Nothing of a file stays when its findings are known: the collector is off, so a cycle would be kept for good."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator

import pytest
from contract_lint.linters.source.analyse import check_sources, source_rules
from contract_lint.linters.source.text import plain_source

WITH_ALL_BLOCKS = """
import contextlib

import jax


def outer(x, f, n=1):
    while True:
        try:
            with contextlib.suppress(ValueError), jax.disable_jit():
                for i in range(n):
                    if x is None:
                        return lambda: outer(x, f)
                x = f(x)
        except TypeError:
            raise
        else:
            continue
        finally:
            del f
"""


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    yield
    if enabled:
        gc.enable()


def trees() -> int:
    """How many syntax trees of whole files are alive, those included that the collector was told to leave alone."""
    gc.unfreeze()
    return sum(type(each) is ast.Module for each in gc.get_objects())


def test_no_tree_is_kept() -> None:
    before = trees()
    texts = [WITH_ALL_BLOCKS]
    texts += [example.source for rule in source_rules() for example in (*rule.bad, *rule.good)]
    check_sources([plain_source(f"m{number}.py", text) for number, text in enumerate(texts)])
    assert trees() == before
