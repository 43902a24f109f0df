"""Arguments with functions and flags among their leaves: arrays are traced, a change of the rest compiles anew."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from contract_lint.runtime.apart import Held, apart, filtered, together
from contract_lint.runtime.carry import settled
from contract_lint.runtime.leaves import argument_leaves
from contract_lint.runtime.request import StepFailure
from contract_lint.runtime.run.signature import explain, signature
from contract_lint.runtime.step import NormalisedStep, as_step

ROWS = jnp.ones((2, 4))


class Net(eqx.Module):
    weight: jax.Array
    activation: Callable
    rate: float

    def __call__(self, x: Any) -> Any:
        # Were `rate` traced, this would not trace.
        return self.activation(x @ self.weight) if self.rate else x @ self.weight


def net(activation: Callable = jnp.tanh, rate: float = 0.5) -> Net:
    return Net(jnp.ones((4, 4)), activation, rate)


def update(x: Any, model: Net, total: Any, scale: Any = 1.0) -> tuple[Net, Any, Any]:
    loss, grads = eqx.filter_value_and_grad(lambda m: jnp.sum(m(x)) * scale)(model)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -g, grads)), total + loss, loss


def equinox_step(donate: Any = "all-except-first", **attributes: Any) -> NormalisedStep:
    given = {"fn": eqx.filter_jit(update, donate=donate), "args": (ROWS, net(), jnp.zeros(()))}
    return as_step(SimpleNamespace(**(given | attributes)))


def names(step: NormalisedStep) -> list[tuple[str, str]]:
    leaves, _ = argument_leaves(step, step.jitted.trace(*step.args, **step.kwargs))
    return [(leaf.argument, leaf.path) for leaf in leaves]


def test_a_tree_comes_back_as_it_was() -> None:
    tree = {"a": (jnp.tanh, "x"), "b": [1, 2.5, None], "c": ROWS}
    held = apart(tree)
    assert jax.tree.leaves(held) == [ROWS]
    assert together(held) == tree


def test_a_tree_that_jit_takes_stays_unless_asked() -> None:
    tree = {"lr": 0.1, "x": ROWS}
    assert apart(tree) is tree
    assert apart(tree, always=True) == {"lr": Held(0.1), "x": ROWS}


def test_arrays_of_a_filter_jitted_step_are_named_as_its_arguments_are() -> None:
    assert names(equinox_step()) == [("x", ""), ("model", "weight"), ("total", "")]


@pytest.mark.parametrize(
    ("donate", "arguments"),
    [("all", ("x", "model", "total")), ("all-except-first", ("model", "total")), ("none", ()), ("warn", None)],
)
def test_donation_is_that_of_the_wrapper(donate: str, arguments: tuple[str, ...] | None) -> None:
    expected = ("x", "model", "total") if arguments is None else arguments
    assert equinox_step(donate).donate == expected


def test_each_donated_argument_is_carried_by_the_output_like_it() -> None:
    assert settled(equinox_step()).carry == {0: "model", 1: "total"}
    assert settled(equinox_step(carry={2: "total"})).carry == {2: "total"}


def test_it_runs_and_hands_back_the_module() -> None:
    step = settled(equinox_step(example=lambda i: ((ROWS, net(), jnp.zeros(())), {})))
    assert step.example is not None
    args, kwargs = step.example(0)
    model, total, loss = step.jitted(*args, **kwargs)
    assert jax.tree.structure(model) == jax.tree.structure(step.args[1])
    assert together(model).activation is jnp.tanh
    assert total == loss
    step.jitted(args[0], model, total)
    assert step.jitted._cache_size() == 1


def test_what_is_no_array_compiles_anew_where_it_changes_and_is_named() -> None:
    step = equinox_step("none")
    other = (ROWS, apart(net(rate=0.25), always=True), jnp.zeros(()))
    step.jitted(*step.args)
    step.jitted(*other)
    assert step.jitted._cache_size() == 2
    argument, reason = explain(signature(step, other, {}), [signature(step, step.args, {})])
    assert (argument, reason) == ("model/rate", "model/rate: static value 0.5 before, 0.25 now")


def test_a_number_is_a_static_argument_to_equinox_and_an_input_to_jax() -> None:
    args = (ROWS, net(), jnp.zeros(()), 2.0)
    step = equinox_step("all", args=args)
    assert step.static == ("scale",) and step.donate == ("x", "model", "total")
    plain = as_step(SimpleNamespace(fn=update, args=args))
    assert plain.static == ()
    assert names(plain) == [*names(step), ("scale", "")]


def test_a_plain_function_of_a_module_is_a_step() -> None:
    step = as_step(SimpleNamespace(fn=update, args=(ROWS, net(), jnp.zeros(())), donate=("model", "total")))
    assert settled(step).carry == {0: "model", 1: "total"}
    assert jnp.allclose(step.jitted(*step.args)[2], update(ROWS, net(), 0.0)[2])


def test_loss_and_grads_takes_the_same_arguments() -> None:
    @eqx.filter_jit
    def loss_and_grads(x: Any, model: Net, total: Any) -> Any:
        return eqx.filter_value_and_grad(lambda m: jnp.sum(m(x)))(model)

    step = equinox_step(loss_and_grads=loss_and_grads)
    assert step.loss_and_grads is not None
    loss, grads = jax.jit(step.loss_and_grads)(*step.args)
    assert jnp.allclose(loss, update(ROWS, net(), 0.0)[2])
    assert [leaf.shape for leaf in jax.tree.leaves(grads)] == [(4, 4)]


def test_a_leaf_that_cannot_be_compared_is_named() -> None:
    with pytest.raises(StepFailure, match="holds a bytearray where an array is needed"):
        equinox_step(args=(ROWS, net(), bytearray(b"x"), {"x": ROWS, "y": bytearray(b"x")}))


def test_other_functions_are_no_wrapper_of_equinox() -> None:
    assert filtered(jax.jit(update)) is None and filtered(update) is None
