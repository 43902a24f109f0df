"""What tracer-branch must know of who traces: derivatives alone keep the numbers, and some failures are expected."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "derivatives that are compiled or mapped, a failure that one of two calls expects",
        """
        import jax
        import jax.numpy as jnp
        import pytest

        def hinge(x):
            return x if x > 0 else 0 * x  # bad

        slopes = jax.vmap(jax.grad(hinge))

        def energy(x):
            total = jnp.sum(x**2)
            return total if total > 1.0 else 0.5 * total  # bad

        @jax.jit
        def step(x):
            value, gradient = jax.value_and_grad(energy)(x)
            return x - 0.1 * gradient

        def branchy(x):
            return 1 if x > 0 else 2  # bad

        def refused():
            with pytest.raises(jax.errors.TracerBoolConversionError):
                jax.jit(branchy)(1.0)

        def hopeful():
            return jax.jit(branchy)(1.0)

        def other(x):
            return 1 if x > 0 else 2  # bad

        def wrong():
            with pytest.raises(NameError):
                jax.jit(other)(1.0)

        def logged():
            try:
                return jax.jit(third)(1.0)
            except Exception as error:
                print(error)

        def third(x):
            return 1 if x > 0 else 2  # bad
        """,
        run="step(jnp.ones(3))",
        raises="TracerBoolConversionError",
    ),
)

GOOD = (
    Example(
        "derivatives alone, which run on the numbers",
        """
        import jax
        import jax.numpy as jnp
        from jax import grad

        def hinge(x):
            return x if x > 0 else 0 * x

        def energy(x):
            total = jnp.sum(x**2)
            assert total >= 0
            while total > 10.0:
                total = total / 2
            return total

        def slopes(x):
            gradient = jax.grad(hinge)(x)
            (value, pull), pushed = jax.vjp(hinge, x), jax.jvp(hinge, (x,), (1.0,))
            second, line = grad(grad(hinge))(x), jax.linearize(hinge, x)
            return gradient, value, pull(1.0), pushed, second, line, jax.value_and_grad(energy)(jnp.ones(3))
        """,
        run="slopes(2.0)",
    ),
    Example(
        "failures that are expected, round the call of what is traced",
        """
        import contextlib
        import unittest
        import jax
        import pytest

        def branchy(x):
            return 1 if x > 0 else 2

        @jax.jit
        def decorated(x):
            return inner(x * 2)

        def inner(x):
            return 1 if x > 0 else 2

        unnamed = jax.jit(lambda x: 1 if x > 0 else 2)

        def refused():
            with pytest.raises(jax.errors.TracerBoolConversionError):
                jax.jit(branchy)(1.0)
            with pytest.raises(Exception):
                unnamed(1.0)
            with pytest.raises((ValueError, TypeError), match="boolean"):
                decorated(1.0)
            pytest.raises(TypeError, decorated, 1.0)
            with contextlib.suppress(jax.errors.ConcretizationTypeError):
                jax.jit(branchy)(2.0)

        class Refusals(unittest.TestCase):
            def test_branch(self):
                with self.assertRaises(TypeError):
                    jax.jit(branchy)(1.0)
                with self.assertRaisesRegex(TypeError, "boolean"):
                    jax.jit(branchy)(1.0)
                self.assertRaises(TypeError, jax.jit(branchy), 1.0)
                self.assertRaisesRegex(TypeError, "boolean", lambda: jax.jit(branchy)(1.0))

        def shown():
            try:
                jax.jit(branchy)(1.0)
            except jax.errors.TracerBoolConversionError as error:
                print("as expected", type(error))
        """,
        run="refused(), shown(), Refusals('test_branch').debug()",
    ),
)
