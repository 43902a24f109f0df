"""The longest sum of a traced function."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from contract_lint.runtime.run.sums import longest_sum, own_sum

SINGLE, DOUBLE, BRAIN = 2.0**-24, 2.0**-53, 2.0**-8


def accumulated(x: Any) -> Any:
    return jax.lax.scan(lambda total, row: (total + row, None), jnp.zeros(2), x)[0]


@pytest.mark.parametrize(
    ("function", "shape", "dtype", "terms"),
    [
        (lambda x: jnp.sum(x, axis=(0, 2)), (4, 3, 5), "float32", 20),
        (lambda x: jnp.mean(jnp.sum(x, axis=1)), (16, 8), "float32", 16),
        (lambda x: x @ x.T, (3, 40), "float32", 40),
        (lambda x: jnp.cumsum(x, axis=1), (3, 7), "float32", 7),
        (accumulated, (9, 2), "float32", 9),
        (jax.jit(lambda x: jnp.sum(x)), (6,), "bfloat16", 6),
        (lambda x: jnp.sum(x), (6,), "int32", 1),
        (lambda x: jnp.max(x) + 1, (6,), "float32", 1),
    ],
)
def test_terms_are_counted_wherever_they_are_added(
    function: Any, shape: tuple[int, ...], dtype: str, terms: int
) -> None:
    found = longest_sum(jax.make_jaxpr(function)(jax.ShapeDtypeStruct(shape, dtype)), 0)
    assert found.terms == terms
    assert found.roundoff == (SINGLE if terms > 1 else 0.0)


def test_a_short_sum_in_float32_outweighs_a_long_one_in_float64() -> None:
    with jax.enable_x64(True):
        one, two = jax.ShapeDtypeStruct((4,), "float32"), jax.ShapeDtypeStruct((4096,), "float64")
        found = longest_sum(jax.make_jaxpr(lambda a, b: jnp.sum(a) + jnp.sum(b))(one, two), 0)
        assert (found.terms, found.roundoff) == (4, SINGLE)
        assert longest_sum(jax.make_jaxpr(jnp.sum)(two), 0).roundoff == DOUBLE


def test_only_what_a_value_is_made_from_counts() -> None:
    """A loss over 40 rows; the norm over 4,096 parameters clips what follows, and the loss knows nothing of it."""

    @jax.jit
    def both(x: Any, w: Any) -> tuple[Any, Any]:
        return jnp.sum(x), w / jnp.sqrt(jnp.sum(w**2))

    def step(x: Any, w: Any) -> tuple[Any, Any, Any]:
        loss, clipped = both(x, w)
        return clipped, loss, clipped[0, 0] + loss

    jaxpr = jax.make_jaxpr(step)(jnp.ones(40), jnp.ones((64, 64)))
    assert [longest_sum(jaxpr, position).terms for position in (0, 1, 2)] == [4096, 40, 4096]
    assert longest_sum(jaxpr, -2) == longest_sum(jaxpr, 1)


def test_all_of_a_loop_counts() -> None:
    def loss(x: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, total: total + jnp.sum(x), 0.0)

    assert longest_sum(jax.make_jaxpr(loss)(jnp.ones(40)), 0).terms == 40


def test_a_jaxpr_that_is_called_very_often_is_looked_at_once() -> None:
    called = jnp.sum
    for _ in range(40):
        called = jax.jit(lambda x, inner=called: inner(x) + inner(x))
    assert longest_sum(jax.make_jaxpr(called)(jnp.ones(40)), 0).terms == 40


def convolved(p: Any, x: Any) -> Any:
    weight, bias, scale = p
    layout = ("NHWC", "HWIO", "NHWC")
    out = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=layout) + bias
    return jnp.sum(jnp.tanh(out.astype(jnp.bfloat16) * scale).astype(jnp.float32))


def embedded(table: Any, tokens: Any) -> Any:
    return jnp.sum(jnp.tanh(table[tokens]).astype(jnp.float32))


def tied(weight: Any, x: Any) -> Any:
    """One weight in every round of a loop: its gradient is what the backward loop carries."""
    return jnp.sum(jax.lax.scan(lambda c, _: (jnp.tanh(c * weight), None), x, length=5)[0].astype(jnp.float32))


def stacked(biases: Any, x: Any) -> Any:
    """A bias for each round: a sum inside of the loop, over 6 rows."""
    return jnp.sum(jax.lax.scan(lambda c, bias: (jnp.tanh(c + bias), None), x, biases)[0].astype(jnp.float32))


def narrow(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, "bfloat16")


@pytest.mark.parametrize(
    ("loss", "parameters", "given", "sums"),
    [
        (
            convolved,
            (narrow(3, 3, 2, 4), narrow(4), narrow(4)),
            narrow(2, 8, 6, 2),
            # A weight's gradient is a product, added up in float32.
            [(1, 0.0), (96, BRAIN), (96, BRAIN)],
        ),
        (embedded, narrow(10, 4), jax.ShapeDtypeStruct((3, 7), "int32"), [(21, BRAIN)]),
        (tied, narrow(4), narrow(6, 4), [(6, BRAIN)]),
        (stacked, narrow(5, 4), narrow(6, 4), [(6, BRAIN)]),
    ],
)
def test_the_sum_that_a_gradient_is(loss: Any, parameters: Any, given: Any, sums: list[tuple[int, float]]) -> None:
    """Each partial sum of a half-precision sum that is no product is rounded; those before and after do not count."""
    jaxpr = jax.make_jaxpr(jax.jit(jax.grad(loss)))(parameters, given)
    found = [own_sum(jaxpr, position) for position in range(len(sums))]
    assert [(each.terms, each.roundoff) for each in found] == sums
    assert [own_sum(jaxpr, position - len(sums)) for position in range(len(sums))] == found


def test_a_scale_is_no_sum_of_a_gradient() -> None:
    """Clipped by the norm of 64 elements: the gradient of a row of 4 is still a sum of 6."""

    def clipped(bias: Any, x: Any) -> Any:
        grad = jax.grad(lambda bias: jnp.sum(jnp.tanh(x + bias).astype(jnp.float32)))(bias)
        return grad * (1 / jnp.sqrt(jnp.sum(x.astype(jnp.float32) ** 2))).astype(grad.dtype)

    assert own_sum(jax.make_jaxpr(clipped)(narrow(4), narrow(6, 4)), 0).terms == 6
