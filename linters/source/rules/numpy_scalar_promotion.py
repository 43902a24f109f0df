"""A NumPy number turns half-precision arithmetic into float32.

## What it does
Reports arithmetic, `jnp.where`, `jnp.maximum` and their like between an array that was cast to half precision and a
NumPy float: `np.sqrt(d)`, `np.float32(2)`, `np.finfo(np.float32).min`, an array of floats. An array that was cast to a
type that the project chooses (`x.astype(self.dtype)`) counts as one that may be in half precision.

## Why is this bad?
Python's numbers take the type of the array; NumPy's have a type of their own, and float32 wins. From that line on
everything runs in float32, at twice the memory and half the speed, and nothing says so
(https://github.com/google-deepmind/optax/issues/1405, https://github.com/p-doom/jasmine/issues/123,
https://github.com/jax-ml/jax/issues/1830).

## Example
    scores = (q @ k.T).astype(jnp.bfloat16) / np.sqrt(q.shape[-1])

## Use instead
    scores = (q @ k.T).astype(jnp.bfloat16) / math.sqrt(q.shape[-1])

`float(np.sqrt(d))`, `jnp.sqrt(d)` of a Python number and `np.sqrt(d).astype(x.dtype)` keep the type as well.
`contract-lint verify` shows the conversions that are left in the program.

## What stays clean
`math`, `float(...)`, `np.pi` and other Python floats, NumPy integers, NumPy numbers that are cast, results that are
cast back at once, arrays of which no cast is in sight.

## References
- https://docs.jax.dev/en/latest/type_promotion.html
- https://docs.jax.dev/en/latest/_autosummary/jax.numpy.promote_types.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..formulas import applied, elements
from ..halves import is_half, is_half_type
from ..records import Function, Record
from ..rule import Example, SourceRule
from ..values.value import Value, dotted

_FLOATS = frozenset({
    "sqrt", "log", "log2", "log10", "log1p", "exp", "sin", "cos", "tan", "tanh", "linspace", "float32", "float64",
    "single", "double", "float_", "mean", "std", "var", "hypot", "reciprocal", "logspace", "geomspace", "cbrt",
})  # fmt: skip
_FILLED = frozenset({"ones", "zeros", "empty", "full", "array", "asarray", "eye", "identity"})
_MEETINGS = frozenset({"where", "maximum", "minimum", "multiply", "add", "subtract", "divide", "true_divide", "clip"})
_WIDE = frozenset({"jax.numpy.float32", "numpy.float32", "numpy.float64", "jax.numpy.float64", "numpy.single"})
_OPERATORS = frozenset({"Add", "Sub", "Mult", "Div", "Pow", "Mod"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for record, value, parts in _meetings(facts, function):
            wide = next((each for each in parts if is_numpy_float(facts, each)), None)
            if wide is None:
                continue
            others = [each for each in parts if each is not wide]
            sure = any(is_half(facts, each) for each in others)
            if not sure and not any(_is_of_chosen_type(facts, each) for each in others):
                continue
            if _is_cast_back(facts, function, value):
                continue
            text = facts.text(wide.node) if wide.node is not None else "this number"
            may = "" if sure else ", if the type that is chosen is a half one"
            yield facts.finding(
                RULE,
                record.node,
                f"`{text}` is NumPy's float, and makes the result float32{may}",
                subject=f"{function.name}: {facts.text(record.node)}",
                because=facts.why(function),
                help="wrap it in float(), or use math",
                confidence="certain" if sure else "likely",
            )


def _meetings(facts: FileFacts, function: Function) -> Iterator[tuple[Record, Value, tuple[Value, ...]]]:
    """Where values meet that are brought to one type: the record, the result, the values."""
    for record in function.arithmetic:
        if record.value.op == "bin" and record.value.data in _OPERATORS:
            yield record, record.value, tuple(record.value.args)
    for call in function.calls:
        if call.decorates is not None or len(call.args) < 2:
            continue
        made = applied(facts, call.result)
        if made is not None and made.name in _MEETINGS and not (facts.callee(call).name or ".").startswith("numpy."):
            yield call, call.result, made.args[1:] if made.name == "where" else made.args


def is_numpy_float(facts: FileFacts, value: Value, depth: int = 5) -> bool:
    """Whether a value is a float of NumPy, scalar or array, with a type of its own."""
    if depth == 0:
        return False
    if value.op == "name":
        target = facts.program.resolve(value.data)
        return target is not None and is_numpy_float(facts, target, depth - 1)
    if value.op == "unary" and value.data == "USub":
        return is_numpy_float(facts, value.args[0], depth - 1)
    if value.op == "bin":
        kinds = {facts.kind(each) for each in value.args}
        return kinds <= {"static", "host"} and any(is_numpy_float(facts, each, depth - 1) for each in value.args)
    if value.op == "attr" and value.data in ("min", "max", "eps", "tiny", "smallest_normal"):
        limits = value.args[0]
        if limits.op != "call" or facts.callee(limits.data).name not in ("numpy.finfo", "jax.numpy.finfo"):
            return False
        of = limits.data.argument(0, "dtype")
        return of is not None and (dotted(of) in _WIDE or (of.op == "const" and of.data in ("float32", "float64")))
    if value.op != "call":
        return False
    call = value.data
    name = facts.callee(call).name or ""
    if not name.startswith("numpy.") or name.count(".") != 1:
        return False
    last = name.rpartition(".")[2]
    dtype = call.keywords.get("dtype")
    if dtype is not None:
        return last in _FLOATS | _FILLED and dotted(dtype) in _WIDE
    if last in _FILLED:
        if last in ("array", "asarray", "full"):
            return len(call.args) == (2 if last == "full" else 1) and _holds_float(call.args[-1])
        return len(call.args) == 1
    return last in _FLOATS and not any(facts.is_tracer(each) for each in call.args)


def _holds_float(value: Value) -> bool:
    if value.op in ("list", "tuple"):
        return any(_holds_float(each) for each in value.args[:32])
    if value.op == "unary":
        return _holds_float(value.args[0])
    return value.op == "const" and type(value.data) is float


def _is_of_chosen_type(facts: FileFacts, value: Value, depth: int = 4) -> bool:
    """Whether an array was cast to a type that a parameter or field of the project says."""
    while value.op == "item" and depth:
        value, depth = value.args[0], depth - 1
    made = applied(facts, value)
    if made is None or made.name not in ("astype", "asarray"):
        return False
    dtype = made.option(1, "dtype")
    if dtype is None or is_half_type(facts, dtype):
        return False
    name = dtype.data.name if dtype.op == "param" else dtype.data if dtype.op == "attr" else ""
    if dtype.op == "attr" and dtype.data == "dtype":
        return dtype.args[0].op == "param" and dtype.args[0].data.index == 0 and dtype.args[0].data.name == "self"
    return isinstance(name, str) and "dtype" in name


def _is_cast_back(facts: FileFacts, function: Function, value: Value) -> bool:
    """Whether a result is given a type again where it is used."""
    for call in function.calls:
        made = applied(facts, call.result)
        cast = made is not None and made.name in ("astype", "asarray", "convert_element_type") and made.args
        if made is not None and cast and any(each is value for each in elements(facts, made.args[0])):
            return True
    return False


BAD = (
    Example(
        "a root of NumPy",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def scores(q, k):
            q = q.astype(jnp.bfloat16)
            k = k.astype(jnp.bfloat16)
            return q @ k.T / np.sqrt(q.shape[-1])  # bad
        """,
        run="assert str(scores(jnp.ones((2, 4)), jnp.ones((2, 4))).dtype) == 'float32'",
    ),
    Example(
        "a number from another file, a limit of float32, an alias",
        """
        import jax
        import jax.numpy as jnp
        from numpy import float32 as single
        from numbers_here import MASKED, SCALE
        import numpy as np

        @jax.jit
        def masked(x, mask):
            low = jnp.asarray(x, dtype=jnp.bfloat16)
            a = jnp.where(mask, low, np.finfo(np.float32).min)  # bad
            b = jnp.maximum(low, single(0.5))  # bad
            return a, b, low * SCALE, jnp.where(mask, low, MASKED)  # bad
        """,
        files={
            "numbers_here.py": """
            import numpy as np

            SCALE = 1.0 / np.sqrt(64)
            MASKED = float(np.finfo(np.float32).min)
            """
        },
        run=(
            "kinds = [str(v.dtype) for v in masked(jnp.ones(2), jnp.ones(2, bool))]\n"
            "assert kinds == ['float32', 'float32', 'float32', 'bfloat16']"
        ),
    ),
    Example(
        "cast in a helper, met by an array of NumPy; a type that a field chooses",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        import numpy as np
        from flax import linen as nn

        def low(x):
            return x.astype("bfloat16")

        def windowed(gain, x):
            return gain * (low(x) * np.array([0.5, 1.0]))  # bad

        window = jax.jit(partial(windowed, 2.0))

        class Scale(nn.Module):
            dtype: jnp.dtype = jnp.bfloat16

            def __call__(self, x):
                return x.astype(self.dtype) * np.log(2.0)  # bad
        """,
        run=(
            "assert str(window(jnp.ones(2)).dtype) == 'float32'\n"
            "assert str(Scale().apply({}, jnp.ones(2)).dtype) == 'float32'"
        ),
    ),
)

GOOD = (
    Example(
        "Python's numbers",
        """
        import math
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def scores(x, mask):
            low = x.astype(jnp.bfloat16)
            low = low / math.sqrt(64) * float(np.sqrt(2.0)) * np.pi
            low = low / jnp.sqrt(64.0) + 1
            return jnp.where(mask, low, jnp.finfo(low.dtype).min)
        """,
        run="assert str(scores(jnp.ones(2), jnp.ones(2, bool)).dtype) == 'bfloat16'",
    ),
    Example(
        "whole numbers, and NumPy that is cast",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def spread(x):
            low = x.astype(jnp.bfloat16)
            low = low * np.prod(x.shape) + np.arange(2) * np.int32(2)
            return low * np.array([0.5, 1.0], low.dtype) / np.sqrt(8).astype(low.dtype)
        """,
        run="assert str(spread(jnp.ones(2)).dtype) == 'bfloat16'",
    ),
    Example(
        "cast back at once",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def scaled(x):
            low = x.astype(jnp.bfloat16)
            return (low * np.sqrt(64) + 1.0).astype(low.dtype)
        """,
        run="assert str(scaled(jnp.ones(2)).dtype) == 'bfloat16'",
    ),
    Example(
        "float32 anyway, and NumPy alone",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def scores(q, k):
            return q @ k.T / np.sqrt(q.shape[-1])

        def table(n):
            return np.linspace(0.0, 1.0, n).astype(np.float16) * np.sqrt(n)
        """,
        run="scores(jnp.ones((2, 2)), jnp.ones((2, 2)))",
    ),
)

RULE = SourceRule(
    code="NUM105",
    name="numpy-scalar-promotion",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
