"""A vector is divided by its own length, which may be zero.

## What it does
Reports `x / jnp.linalg.norm(x)`, `(x - x.mean()) / x.std()`, `x * lax.rsqrt(jnp.sum(x * x))` and their like, where
nothing keeps the denominator away from zero.

## Why is this bad?
A vector of zeros gives nan, and so do its gradient and all that it is added to: padding rows, dead units and constant
batches do it. The slope of the norm itself is nan at zero too, in a place far from where the nan shows
(https://github.com/jax-ml/jax/issues/1052, https://github.com/jax-md/jax-md/issues/348).

## Example
    directions = x / jnp.linalg.norm(x, axis=-1, keepdims=True)

## Use instead
    directions = x * jax.lax.rsqrt(jnp.sum(x * x, axis=-1, keepdims=True) + 1e-6)

The epsilon belongs under the root: `norm(x) + 1e-6` mends the value, not the gradient. `optax.safe_norm` has both.

## What stays clean
Denominators with an epsilon, a `maximum`, `clip` or `where`, and those that a condition asks about; vectors of
constants, of random numbers and exponentials; rotations (what is called `rot` or `quat`), which are of length one
but for rounding; division by the norm of something else.

## References
- https://docs.jax.dev/en/latest/faq.html#gradients-contain-nan-where-using-where
- https://optax.readthedocs.io/en/latest/api/utilities.html#optax.safe_norm
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..formulas import alike, applied, elements, followed, inside, is_asked, is_jax, number, unshaped
from ..pattern import Pattern
from ..records import Function, Record
from ..rule import Example, SourceRule
from ..values.value import Value

_SPREADS = frozenset({"std", "nanstd"})
_NORMS = frozenset({"norm", "vector_norm"})
_ROTATIONS = Pattern(r"(^|_)(rot\w*|quat\w*|qpos|q)(_|\d|$)")
_PRODUCTS = frozenset({"dot", "vdot", "inner"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for record, over, under, rooted in _divisions(facts, function):
            under = unshaped(facts, under)
            length = followed(facts, under)
            vector = _of_square(facts, length) if rooted else _measured(facts, length)
            if vector is None or not is_jax(facts, length) or _is_known(facts, vector):
                continue
            if not any(alike(part, vector) for part in elements(facts, over)) or is_asked(facts, record, under, length):
                continue
            spread = "standard deviation" if _is_spread(facts, length) else "norm"
            yield facts.finding(
                RULE,
                record.node,
                f"division by the {spread} of the same array: nan where that is zero, and so is the gradient",
                subject=f"{function.name}: {facts.text(record.node)}",
                because=facts.why(function),
                help="add an epsilon under the root, or take optax.safe_norm",
            )


def _divisions(facts: FileFacts, function: Function) -> Iterator[tuple[Record, Value, Value, bool]]:
    """Divisions: what over what; `rooted` where the root is in the operation, as in `x * rsqrt(y)`."""
    for record in (*function.arithmetic, *function.calls):
        value = record.value if not hasattr(record, "result") else record.result  # type: ignore[union-attr]
        if value.op not in ("bin", "call"):
            continue
        made = applied(facts, value)
        if made is None or len(made.args) < 2:
            continue
        if made.name in ("divide", "true_divide"):
            yield record, made.args[0], made.args[1], False
        elif made.name == "multiply":
            for over, factor in (made.args[:2], made.args[1::-1]):
                inverse = applied(facts, unshaped(facts, factor))
                if inverse is not None and inverse.name == "rsqrt":
                    yield record, over, inverse.args[0], True
                elif inverse is not None and inverse.name == "divide" and number(facts, inverse.args[0]) is not None:
                    yield record, over, inverse.args[1], False


def _measured(facts: FileFacts, length: Value) -> Value | None:
    """The array that this is the norm or spread of, with nothing added."""
    made = applied(facts, length)
    if made is None or not made.args:
        return None
    if made.name in _NORMS | _SPREADS:
        return unshaped(facts, made.args[0])
    if made.name == "sqrt":
        return _of_square(facts, followed(facts, unshaped(facts, made.args[0])))
    return None


def _of_square(facts: FileFacts, value: Value) -> Value | None:
    """The array that this is the sum of squares, or the variance, of."""
    made = applied(facts, unshaped(facts, value))
    if made is None or not made.args:
        return None
    if made.name == "var":
        return unshaped(facts, made.args[0])
    if made.name in _PRODUCTS and len(made.args) > 1 and alike(made.args[0], made.args[1]):
        return unshaped(facts, made.args[0])
    if made.name not in ("sum", "mean") or not made.args:
        return None
    square = applied(facts, unshaped(facts, made.args[0]))
    if square is None or not square.args:
        return None
    if square.name == "square" or (square.name in ("power", "integer_pow") and number(facts, square.args[1]) == 2):
        under = applied(facts, square.args[0])
        return unshaped(facts, under.args[0] if under is not None and under.name == "abs" else square.args[0])
    if square.name == "multiply" and alike(square.args[0], square.args[1]):
        return unshaped(facts, square.args[0])
    return None


def _is_spread(facts: FileFacts, length: Value) -> bool:
    made = applied(facts, length)
    return made is not None and (made.name in _SPREADS or made.name == "var")


def _is_known(facts: FileFacts, vector: Value) -> bool:
    """Whether a vector is surely, or almost surely, not zero: constants, random numbers, one with a constant part."""
    vector = followed(facts, unshaped(facts, vector))
    if facts.kind(vector) in ("static", "host"):
        return True
    if any(_is_drawn_or_unit(facts, each) for each in inside(facts, vector)):
        return True
    if any(_is_positive(facts, each) for each in elements(facts, vector)):
        return True
    if vector.op in ("list", "tuple"):
        return any(number(facts, each) not in (None, 0.0) for each in vector.args)
    if vector.op == "call":
        name = facts.callee(vector.data).name or ""
        made = applied(facts, vector)
        given = made.args if made is not None else ()
        if made is not None and made.name in ("stack", "concatenate", "array", "asarray"):
            return any(_is_known(facts, each) for each in given[:1])
        return bool(given) and name.startswith("jax.numpy.") and all(_is_known(facts, each) for each in given)
    return vector.op == "bin" and vector.data == "Add" and any(number(facts, each) for each in vector.args)


def _is_drawn_or_unit(facts: FileFacts, value: Value) -> bool:
    """Whether a value is drawn at random, or is a rotation, which has length one but for rounding."""
    if value.op == "call":
        name = facts.callee(value.data).name or ""
        return name.startswith("jax.random.") or name.rpartition(".")[2] == "sample"
    name = value.data.name if value.op == "param" else value.data if value.op == "attr" else ""
    return _ROTATIONS.search(name) is not None


def _is_positive(facts: FileFacts, value: Value) -> bool:
    """Whether a value is an exponential, which is never zero."""
    made = applied(facts, value)
    return made is not None and made.name in ("exp", "softmax", "softplus", "sigmoid")


BAD = (
    Example(
        "a row of zeros",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def directions(x):
            return x / jnp.linalg.norm(x, axis=-1, keepdims=True)  # bad
        """,
        run="assert jnp.isnan(directions(jnp.zeros((1, 3)))).all()",
    ),
    Example(
        "a length from a helper of another file",
        """
        import jax
        import jax.numpy as jnp
        from lengths import length

        def cosine(a, b):
            size = length(a)
            unit = a / size[..., None]  # bad
            return jnp.sum(unit * b)

        slope = jax.grad(cosine)
        """,
        files={
            "lengths.py": """
            from jax import numpy as xp

            def length(v):
                return xp.sqrt(xp.sum(v**2, axis=-1))

            def whitened(v):
                return (v - v.mean()) / xp.std(v)  # bad
            """
        },
        run="assert jnp.isnan(slope(jnp.zeros(3), jnp.ones(3))).all()",
    ),
    Example(
        "an inverse root, and a reciprocal",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from jax.lax import rsqrt
        from jax.numpy import linalg

        def scaled(gain, x):
            y = x * rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True))  # bad
            inverse = 1.0 / linalg.norm(x)
            return gain * y + inverse * x  # bad

        layer = jax.jit(partial(scaled, 2.0))
        """,
        run="assert jnp.isnan(layer(jnp.zeros((2, 3)))).all()",
    ),
)

GOOD = (
    Example(
        "an epsilon, a maximum, a clip",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def normalised(x, eps=1e-6):
            a = x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + eps)
            b = x / jnp.maximum(jnp.linalg.norm(x), eps)
            c = x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps)
            d = (x - x.mean()) / jnp.sqrt(x.var() + eps)
            return a + b + c + d + x / jnp.clip(x.std(), eps)
        """,
        run="assert jnp.isfinite(normalised(jnp.zeros((2, 3)))).all()",
    ),
    Example(
        "asked about before",
        """
        import jax
        import jax.numpy as jnp

        def safe_length(x):
            squares = jnp.sum(x * x)
            return jnp.where(squares == 0, 1.0, jnp.sqrt(jnp.where(squares == 0, 1.0, squares)))

        @jax.jit
        def unit(x):
            return x / safe_length(x)

        @jax.jit
        def clipped(x):
            size = jnp.linalg.norm(x)
            size = jnp.where(size == 0, 1.0, size)
            return x / size
        """,
        run="assert jnp.isfinite(unit(jnp.zeros(3))).all()",
    ),
    Example(
        "constants and random directions",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        AXIS = np.array([1.0, 1.0, 0.0])

        @jax.jit
        def rotated(key, angle):
            axis = jnp.asarray(AXIS) / jnp.linalg.norm(jnp.asarray(AXIS))
            probe = jax.random.normal(key, (3,))
            probe = probe / jnp.linalg.norm(probe)
            plane = jnp.stack([1.0, angle])
            return axis * probe, plane / jnp.linalg.norm(plane)

        @jax.jit
        def integrated(rot, spin):
            turned = rot + 0.01 * spin
            return turned / jnp.linalg.norm(turned)
        """,
        run="rotated(jax.random.key(0), 1.0); integrated(jnp.ones(4), jnp.ones(4))",
    ),
    Example(
        "the norm of something else, and NumPy on the host",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def relative(error, target):
            return jnp.linalg.norm(error) / jnp.linalg.norm(target), error / jnp.sum(jnp.exp(error))

        def unit_rows(table):
            table = np.asarray(table)
            return table / np.linalg.norm(table, axis=-1, keepdims=True)
        """,
        run="relative(jnp.ones(2), jnp.ones(2)); unit_rows([[1.0]])",
    ),
)

RULE = SourceRule(
    code="NUM102",
    name="unguarded-norm-divide",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
