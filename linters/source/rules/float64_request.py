"""64-bit numbers are asked of JAX, which gives 32-bit ones.

## What it does
Reports `dtype=jnp.float64`, `"float64"`, `np.float64`, `complex128` (and `.astype` of them) in calls of jax.numpy and
on JAX arrays, in projects where nothing turns the 64-bit mode on.

## Why is this bad?
Unless `jax_enable_x64` is set, JAX keeps 32 bits and says so in one warning that scrolls by. The code reads as if it
had 15 digits, and has 7: sums drift and tolerances of solvers are never met (https://github.com/jax-ml/jax/issues/4490,
https://github.com/jax-ml/jax/issues/732).

## Example
    total = jnp.sum(errors, dtype=jnp.float64)

## Use instead
    total = jnp.sum(errors, dtype=jnp.float32)

Or turn the mode on before any array is made, `jax.config.update("jax_enable_x64", True)`, or do this part in NumPy.

## What stays clean
NumPy's own arrays, projects in which a file turns the 64-bit mode on, files that ask whether it is, tests,
comparisons with a dtype, `jnp.finfo`, and `dtype=float`, which asks for the default.

## References
- https://docs.jax.dev/en/latest/default_dtypes.html
- https://github.com/jax-ml/jax/issues/17366
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..apis import result_of
from ..facts import FileFacts
from ..pattern import Pattern
from ..records import Call
from ..rule import Example, SourceRule
from ..values.value import Value, dotted

_WIDE = {
    **{f"{module}.{name}": name for module in ("jax.numpy", "numpy") for name in ("float64", "complex128", "double")},
    "float64": "float64",
    "complex128": "complex128",
    "f8": "float64",
}
_KEPT = {"float64": "float32", "double": "float32", "complex128": "complex64"}
_POSITIONS = {"array": 1, "asarray": 1, "zeros": 1, "ones": 1, "empty": 1, "full": 2, "zeros_like": 1, "ones_like": 1,
    "full_like": 2, "arange": 3}  # fmt: skip
_KNOWS = Pattern(r"enable_x64|x64_enabled")
_JAX = frozenset({"array", "traced", "eager", "device"})


def check(facts: FileFacts) -> Iterable[Finding]:
    if facts.program.x64 or _KNOWS.search(facts.source.text):
        return
    for function in facts.functions:
        for call in function.calls:
            wide = _asked(facts, call)
            if wide is None:
                continue
            yield facts.finding(
                RULE,
                call.node,
                f"{wide} is asked for, and without jax_enable_x64 JAX gives {_KEPT[wide]}",
                subject=f"{function.name}: {facts.text(call.node)}",
                because=facts.why(function),
                help=f"ask for {_KEPT[wide]}, or turn the 64-bit mode on before the first array is made",
            )


def _asked(facts: FileFacts, call: Call) -> str | None:
    """The 64-bit type that a call asks JAX for."""
    if call.decorates is not None:
        return None
    callee = facts.callee(call)
    name = callee.name
    if name is None or callee.wraps or callee.function is not None or callee.bound:
        return None
    if name in _WIDE and name.startswith("jax.") and call.args:
        return _WIDE[name]
    if name in (".astype", ".view"):
        base = call.func.args[0] if call.func.op == "attr" else None
        dtype = call.argument(0, "dtype")
        if base is None:
            return None
        made = facts.kind(base) == "array" or (facts.kind(base) in _JAX and base.op != "param")
        return _wide(facts, dtype) if made or _of_jax(dtype) else None
    if not name.startswith("jax.") or result_of(name) != "array":
        return None
    return _wide(facts, call.argument(_POSITIONS.get(name.removeprefix("jax.numpy.")), "dtype"))


def _of_jax(dtype: Value | None) -> bool:
    """Whether a type is one of jax.numpy: who writes that means a JAX array."""
    return dtype is not None and (dotted(dtype) or "").startswith("jax.numpy.")


def _wide(facts: FileFacts, dtype: Value | None) -> str | None:
    if dtype is None:
        return None
    if dtype.op == "const":
        return _WIDE.get(dtype.data) if isinstance(dtype.data, str) else None
    if dtype.op == "call" and dotted(dtype.data.func) in ("jax.numpy.dtype", "numpy.dtype"):
        return _wide(facts, dtype.data.argument(0, "dtype"))
    return _WIDE.get(dotted(dtype) or "")


BAD = (
    Example(
        "as a keyword, by position, as a string",
        """
        import jax.numpy as jnp
        import numpy as np

        def setup(data):
            x = jnp.asarray(data, dtype=jnp.float64)  # bad
            y = jnp.zeros((2, 2), np.float64)  # bad
            z = jnp.linspace(0.0, 1.0, 5, dtype="float64")  # bad
            return x, y, z, jnp.float64(0.1)  # bad
        """,
        run="assert all(str(v.dtype) == 'float32' for v in setup([1.0]))",
    ),
    Example(
        "astype in a helper of another file",
        """
        import jax
        from precise import total

        mean = jax.jit(lambda x: total(x) / x.size)
        """,
        files={
            "precise.py": """
            import jax.numpy as jnp

            WIDE = jnp.float64

            def squared(x):
                return jnp.square(x).astype(WIDE)  # bad

            def total(x):
                return jnp.sum(squared(x), dtype=jnp.dtype("float64"))  # bad
            """
        },
        run="import jax.numpy as jnp\nassert str(mean(jnp.ones(3)).dtype) == 'float32'",
    ),
    Example(
        "random numbers and complex ones",
        """
        import jax
        from jax import numpy as jnp
        from jax.numpy import complex128 as wide

        def noise(key, shape):
            phase = jax.random.uniform(key, shape, dtype=jnp.float64)  # bad
            return jnp.exp(phase).astype(wide)  # bad
        """,
        run="assert str(noise(jax.random.key(0), (2,)).dtype) == 'complex64'",
    ),
)

GOOD = (
    Example(
        "NumPy's own arrays",
        """
        import jax.numpy as jnp
        import numpy as np

        def load(rows):
            table = np.asarray(rows, dtype=np.float64)
            table = (table - table.mean()).astype(np.float64)
            return jnp.asarray(table, dtype=jnp.float32)
        """,
        run="load([1.0])",
    ),
    Example(
        "the mode is turned on",
        """
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def total(x):
            return jnp.sum(x, dtype=jnp.float64)
        """,
    ),
    Example(
        "in another file of the project",
        """
        import jax.numpy as jnp
        import settings

        def total(x):
            return jnp.sum(x, dtype=jnp.float64) * settings.SCALE
        """,
        files={
            "settings.py": """
            import os

            os.environ["JAX_ENABLE_X64"] = "1"
            SCALE = 2.0
            """
        },
    ),
    Example(
        "a file that asks for the mode",
        """
        import jax
        import jax.numpy as jnp

        def zeros(shape):
            dtype = jnp.float64 if jax.config.jax_enable_x64 else jnp.float32
            return jnp.zeros(shape, dtype) if jax.config.jax_enable_x64 else jnp.zeros(shape, "float32")
        """,
        run="zeros(2)",
    ),
    Example(
        "questions about a dtype, and the default one",
        """
        import jax.numpy as jnp
        import numpy as np

        def limits(x):
            if x.dtype == jnp.float64:
                return jnp.finfo(jnp.float64).max
            wide = np.float64(1.0)
            return jnp.asarray(x, dtype=float) * float(wide) + np.finfo(np.float64).eps
        """,
        run="limits(jnp.ones(2))",
    ),
)

RULE = SourceRule(
    code="NUM106",
    name="float64-request",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
