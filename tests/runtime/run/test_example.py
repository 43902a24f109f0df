"""`example(i)` that gives no (args, kwargs): what came, what was expected, how to write it, and where."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from contract_lint.runtime.frames import FramePaths
from contract_lint.runtime.request import StepFailure
from contract_lint.runtime.run.example import example_of
from contract_lint.runtime.step import as_step

PATHS = FramePaths(Path("/nowhere"))


def fn(state: Any, batch: Any, *, scale: float = 1.0) -> Any:
    return state, batch


def given(value: Any) -> Any:
    step = SimpleNamespace(fn=fn, args=(1.0, {"x": 2.0}), kwargs={"scale": 3.0}, example=lambda index: value)
    return example_of(as_step(step), 4, PATHS)


def test_the_pair_is_taken_apart() -> None:
    assert given(([1.0, {}], {"scale": 2.0})) == ((1.0, {}), {"scale": 2.0})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ((1.0, {"x": 2.0}), "example(4) returned a tuple of 2 (float, dict); expected (args, kwargs)"),
        ((1.0, {"x": 2.0}, 3.0), "example(4) returned a tuple of 3 (float, dict, float); expected (args, kwargs)"),
        ({"x": 2.0}, "example(4) returned a value of type dict; expected (args, kwargs)"),
        (None, "example(4) returned None; expected (args, kwargs)"),
        (((1.0,), {}), "example(4) returned 1 positional argument, the step takes 2: state, batch; expected"),
        (((1.0, 2.0), {"scael": 1}), "example(4) returned the keyword `scael`, the step takes state, batch, scale;"),
    ],
)
def test_what_does_not_fit_is_described(value: Any, said: str) -> None:
    with pytest.raises(StepFailure) as caught:
        given(value)
    assert said in caught.value.message
    assert caught.value.help == 'for this step: return (state, batch), {"scale": scale}'
    assert caught.value.location is not None and caught.value.location.line
