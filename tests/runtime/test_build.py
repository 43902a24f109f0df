"""How a build function is called: with the mesh of the contract, or without one where it can do without."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from contract_lint.runtime.build import call_build
from contract_lint.runtime.request import StepFailure, StepRequest
from jax.sharding import Mesh

MESH = Mesh(np.array(jax.devices()[:1]), ("data",))
SEEN: list[Any] = []
"""The meshes that were given, newest last."""


def _step(mesh: Any) -> Any:
    SEEN.append(mesh)
    return SimpleNamespace(fn=lambda x: x, args=(1.0,))


def needs(mesh: Any) -> Any:
    return _step(mesh)


def may(mesh: Any = "none given", width: int = 1) -> Any:
    return _step(mesh)


def by_name(*, mesh: Any = "none given") -> Any:
    return _step(mesh)


@pytest.mark.parametrize("builder", [needs, may, by_name])
def test_the_mesh_of_the_contract_is_given(builder: Any) -> None:
    call_build(builder, StepRequest(name="train", entry="m:build"), {}, MESH)
    assert SEEN[-1] is MESH


@pytest.mark.parametrize("builder", [may, by_name])
def test_without_one_a_function_has_its_own_default(builder: Any) -> None:
    call_build(builder, StepRequest(name="train", entry="m:build"), {}, None)
    assert SEEN[-1] == "none given"


def test_a_function_that_needs_one_is_refused() -> None:
    with pytest.raises(StepFailure, match="takes `mesh`, but the contract has no `mesh` section"):
        call_build(needs, StepRequest(name="train", entry="m:build"), {}, None)
