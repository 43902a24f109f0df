"""Any object with the attributes is a step; what does not fit is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import pytest
from contract_lint.runtime.request import StepFailure
from contract_lint.runtime.step import Step, as_step


def fn(state: Any, batch: Any, *, scale: float = 1.0) -> Any:
    return state, batch


def test_positions_become_names_and_the_default_carry_is_the_donated_argument() -> None:
    step = as_step(Step(fn=fn, args=(1.0, 2.0), kwargs={"scale": 3.0}, donate=(0,), static=-1))
    assert step.argument_names == ("state", "batch", "scale")
    assert step.donate == ("state",)
    assert step.static == ("scale",)
    assert step.carry == {0: "state"}
    assert step.dynamic() == ((1.0, 2.0), {})


def test_position_zero_alone_is_donated() -> None:
    assert as_step(SimpleNamespace(fn=fn, args=(1.0, 2.0), donate=0)).donate == ("state",)


def test_contract_says_what_is_static_where_the_object_does_not() -> None:
    bare = SimpleNamespace(fn=fn, args=(1.0, 2.0))
    assert as_step(bare, static=["batch"]).static == ("batch",)
    assert as_step(SimpleNamespace(fn=fn, args=(1.0, 2.0), static="state"), static=["batch"]).static == ("state",)


def test_carry_may_be_a_list_or_a_mapping() -> None:
    assert as_step(SimpleNamespace(fn=fn, args=(1.0, 2.0), carry=["state", "batch"])).carry == {0: "state", 1: "batch"}
    assert as_step(SimpleNamespace(fn=fn, args=(1.0, 2.0), carry={"1": "batch"})).carry == {1: "batch"}


def test_a_jitted_function_is_taken_as_it_is() -> None:
    jitted = jax.jit(fn, donate_argnums=0)
    assert as_step(SimpleNamespace(fn=jitted, args=(1.0, 2.0))).jitted is jitted


def test_variable_arguments_are_numbered() -> None:
    assert as_step(SimpleNamespace(fn=lambda first, *rest: rest, args=(1, 2, 3))).argument_names == (
        "first",
        "rest0",
        "rest1",
    )


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ({}, "which is no step: it has no attribute `fn`"),
        ({"fn": 3}, "`fn` is a int, which cannot be called"),
        ({"fn": fn, "args": 5}, "`args` is a int"),
        ({"fn": fn, "args": (1, 2), "kwargs": [1]}, "`kwargs` is a list"),
        ({"fn": fn, "args": (1, 2, 3, 4)}, "gives 4 positional arguments, but `fn` takes 2"),
        ({"fn": fn, "args": (1, 2), "donate": "stat"}, "names 'stat', which is none of its arguments (state, batch)"),
        ({"fn": fn, "args": (1, 2), "static": 7}, "names 7, which is none"),
        ({"fn": fn, "args": (1, 2), "carry": {"x": "state"}}, "`carry` has 'x': 'state'"),
        ({"fn": fn, "args": (1, 2), "example": 1}, "`example` is a int"),
    ],
)
def test_what_does_not_fit_is_named(attributes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(StepFailure) as caught:
        as_step(SimpleNamespace(**attributes))
    assert sentence in str(caught.value)
