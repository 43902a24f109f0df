"""The carry that a step does not name, from what it donates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from contract_lint.runtime.carry import settled
from contract_lint.runtime.step import as_step

STATE = {"w": jnp.ones((2, 3))}
BATCH = jnp.ones((4,))


def carry(fn: Any, *args: Any, **attributes: Any) -> dict[int, str]:
    return settled(as_step(SimpleNamespace(fn=fn, args=args, **attributes))).carry


def test_a_jitted_function_says_what_it_donates_when_it_is_traced() -> None:
    assert carry(jax.jit(lambda state, batch: (state, batch), donate_argnums=0), STATE, BATCH) == {0: "state"}
    assert carry(jax.jit(lambda state, batch: (batch, state), donate_argnums=0), STATE, BATCH) == {1: "state"}
    assert carry(jax.jit(lambda state, batch: state, donate_argnames="state"), STATE, BATCH) == {0: "state"}


def test_arguments_alike_are_carried_in_order() -> None:
    def step(params: Any, moments: Any, batch: Any) -> Any:
        return jnp.zeros(()), params, moments

    assert carry(jax.jit(step, donate_argnums=(0, 1)), STATE, STATE, BATCH) == {1: "params", 2: "moments"}
    assert carry(step, STATE, STATE, BATCH, donate=("params", "moments")) == {1: "params", 2: "moments"}


def test_an_output_of_another_shape_or_dtype_carries_nothing() -> None:
    half = jax.jit(lambda state: {"w": state["w"].astype(jnp.bfloat16)}, donate_argnums=0)
    assert carry(half, STATE) == {}
    assert carry(jax.jit(lambda state: state["w"], donate_argnums=0), STATE) == {}


def test_the_steps_own_word_stands() -> None:
    swapped = jax.jit(lambda state, batch: (batch, state), donate_argnums=0)
    assert carry(swapped, STATE, BATCH, carry={}) == {}


def test_static_arguments_are_left_out() -> None:
    step = jax.jit(lambda state, kind, batch: (state, kind), donate_argnums=0, static_argnums=1)
    assert carry(step, STATE, 3, BATCH) == {0: "state"}
