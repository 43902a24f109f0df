"""NumPy, `math` or a Python number is asked of an array that is known only when the program runs.

## What it does
Reports calls of NumPy functions that convert their arguments to NumPy arrays, functions of `math`, `float()`, `int()`,
`.item()`, `.tolist()`, and subscripts of NumPy arrays, lists and tuples, where what they are given comes out of an
array operation in a traced function. Which NumPy functions convert and which hand the call to the array was measured
for all of them.

## Why is this bad?
A tracer holds no numbers, so the first trace ends with TracerArrayConversionError or ConcretizationTypeError
(https://github.com/dfm/tinygp/issues/85, https://github.com/google/brax/issues/227). Often it shows only when code that
worked on the host is jitted or differentiated for the first time.

## Example
    @jax.jit
    def rotate(angle, x):
        return np.cos(angle) * x

## Use instead
    @jax.jit
    def rotate(angle, x):
        return jnp.cos(angle) * x

What has to run in NumPy goes into `jax.pure_callback`.

## What stays clean
NumPy on shapes, dtypes, constants and static arguments; `np.sum`, `np.mean`, `np.max`, `np.reshape` and
others that call the method of the array; arithmetic between NumPy arrays and tracers; code on the host, callbacks, and
what stands behind a question whether a value is a tracer.

## References
- https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerArrayConversionError
- https://docs.jax.dev/en/latest/errors.html#jax.errors.ConcretizationTypeError
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..concrete import is_conditional, is_sure, may_be_concrete
from ..derived import is_derived
from ..facts import TRACERS, FileFacts
from ..records import Call, Function, Record
from ..rule import Example, SourceRule
from ..values.value import Value

# Measured on tracers of two dimensions: these convert no argument, or only what is no array.
_HANDS_ON = frozenset(
    {
        "all", "amax", "amin", "any", "argmax", "argmin", "around", "cumprod", "cumsum", "max", "mean", "min",
        "prod", "round", "searchsorted", "std", "sum", "var", "argsort",
    }
)  # fmt: skip
"""Given an array, they call its method; given a list of tracers, they convert it."""
_HARMLESS = frozenset(
    {
        "array_equal", "array_equiv", "array_split", "bmat", "can_cast", "common_type", "diag_indices_from",
        "flip", "hsplit", "imag", "iscomplexobj", "isreal", "isrealobj", "isscalar", "issubdtype", "iterable",
        "moveaxis", "ndim", "permute_dims", "printoptions", "promote_types", "real", "repeat", "reshape",
        "result_type", "rollaxis", "shape", "size", "split", "squeeze", "swapaxes", "transpose",
        "tril_indices_from", "triu_indices_from", "unstack", "vsplit", "broadcast_shapes", "dtype", "finfo",
        "iinfo", "isdtype", "ndindex", "ndenumerate", "testing", "errstate", "set_printoptions",
        "get_printoptions", "index_exp", "s_", "save", "savez", "load", "vectorize", "nditer", "typename",
        "frompyfunc", "einsum_path", "copyto", "fromfunction", "array_str", "array_repr", "array2string",
        "ogrid", "mgrid", "c_", "r_", "shares_memory", "may_share_memory", "random", "lib", "ctypeslib",
        "typing", "isfortran",
    }
)  # fmt: skip
_NUMBERS = {"builtins.float": "float()", "builtins.int": "int()", "builtins.complex": "complex()"}
_METHODS = frozenset({"item", "tolist", "tobytes", "__array__", "__float__", "__int__"})
# Measured under jax.grad: these make a float of what is differentiated, and it refuses; int() and item() it does not.
_OF_FLOATS = frozenset({"float()", "complex()", ".tolist()", ".tobytes()", ".__float__()", ".__array__()"})
_OF_INTEGERS = frozenset(f"math.{name}" for name in ("comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod"))


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        for record, how, numbers in (*_calls(facts, function), *_subscripts(facts, function)):
            seen = numbers and not traced.hides and not _is_refused(facts, record, how)
            if seen or may_be_concrete(facts, record):
                continue
            lost = numbers and not traced.hides
            yield facts.finding(
                RULE,
                record.node,
                f"{how} takes the numbers out of what is differentiated: the derivative would be lost"
                if lost
                else f"{how} needs the numbers of an array that is only known when the program runs",
                subject=f"{function.name}: {facts.text(record.node)}",
                because=facts.why(function),
                help="use the function of jax.numpy, or jax.pure_callback" if not numbers else "keep it an array",
                confidence="certain" if is_sure(traced) and not is_conditional(record.block) else "likely",
            )


def _is_refused(facts: FileFacts, record: Record, how: str) -> bool:
    """Whether jax.grad alone, too, refuses a conversion, though it has the numbers: they would be lost to it."""
    if not isinstance(record, Call) or not (how in _OF_FLOATS or (how[:5] == "math." and how not in _OF_INTEGERS)):
        return False
    converted = record.func.args[0] if how[0] == "." else record.args[0]
    return is_derived(facts, converted)


def _calls(facts: FileFacts, function: Function) -> Iterator[tuple[Record, str, bool]]:
    """Calls that convert a tracer: how, and whether they see through what grad alone hands in."""
    for call in function.calls:
        if call.decorates is not None:
            continue
        callee = facts.callee(call)
        name = callee.name
        if name is None or callee.wraps or callee.function is not None:
            continue
        if name.startswith(("numpy.", "scipy.")):
            if _converts(facts, call, name):
                yield call, name, False
        elif name in _NUMBERS or name.startswith("math."):
            if call.args and facts.is_tracer(call.args[0]):
                yield call, _NUMBERS.get(name, name), True
        elif name[0] == "." and name[1:] in _METHODS and not call.args:
            base = call.func.args[0] if call.func.op == "attr" else None
            if base is not None and facts.is_tracer(base):
                yield call, f"{name}()", True


def _converts(facts: FileFacts, call: Call, name: str) -> bool:
    parts = name.split(".")
    if parts[1] in _HARMLESS or (parts[0] == "scipy" and len(parts) < 3):
        return False
    given = [*call.args, *(value for key, value in call.keywords.items() if key not in ("dtype", "axis", "shape"))]
    if parts[1] in _HANDS_ON:
        given = [each for each in given[:1] if each.op in ("list", "tuple")]
    return any(_is_array(facts, each) for each in given)


def _is_array(facts: FileFacts, value: Value, depth: int = 2) -> bool:
    """Whether a value is a tracer, a tree of them (which NumPy does not take either), or a list in sight with one."""
    if value.op in ("list", "tuple") and depth:
        return any(_is_array(facts, each, depth - 1) for each in value.args[:32])
    if value.op == "comp" and value.data == "list":
        return facts.kind(value.args[0]) in TRACERS
    return facts.kind(value) in TRACERS


def _subscripts(facts: FileFacts, function: Function) -> Iterator[tuple[Record, str, bool]]:
    for item in function.items:
        if item.value.op != "item":
            continue  # the element itself is in sight
        base, index = item.value.args
        if _is_numpy(facts, base) and facts.is_tracer(index):
            yield item, f"`{facts.text(item.node)}`, a subscript of a NumPy array,", False
        elif _is_sequence(base) and _is_one(facts, index):
            yield item, f"`{facts.text(item.node)}`, a subscript of a Python sequence,", True


def _is_sequence(value: Value) -> bool:
    return value.op in ("list", "tuple", "format") or (value.op == "const" and isinstance(value.data, str))


def _is_one(facts: FileFacts, index: Value) -> bool:
    """Whether an index is one tracer, not a tree that holds some."""
    return facts.kind(index) == "array" or (index.op == "param" and facts.kind(index) == "traced")


def _is_numpy(facts: FileFacts, value: Value) -> bool:
    """Whether a value is surely a NumPy array: a call of one of its constructors."""
    if value.op == "name":
        value = facts.program.resolve(value.data) or value
    if value.op != "call":
        return False
    callee = facts.callee(value.data)
    return callee.name in _MAKERS and not callee.wraps


_MAKERS = frozenset(
    f"numpy.{name}"
    for name in (
        "array",
        "asarray",
        "arange",
        "zeros",
        "ones",
        "full",
        "linspace",
        "eye",
        "stack",
        "concatenate",
        "load",
    )
)

BAD = (
    Example(
        "a function of NumPy on an argument",
        """
        import jax
        import numpy as np

        @jax.jit
        def rotate(angle, x):
            c, s = np.cos(angle), np.sin(angle)  # bad
            return c * x + s
        """,
        raises="TracerArrayConversionError",
        run="import jax.numpy as jnp\nrotate(0.1, jnp.ones(2))",
    ),
    Example(
        "in a helper of another file, under grad",
        """
        import jax
        import jax.numpy as jnp
        from geometry import distance

        def energy(positions):
            gaps = positions[1:] - positions[:-1]
            return jnp.sum(distance(gaps))

        forces = jax.grad(energy)
        """,
        files={
            "geometry.py": """
            import numpy as np

            def distance(gaps):
                return np.sqrt((gaps * gaps).sum(-1))  # bad
            """
        },
        raises="TracerArrayConversionError",
        run="forces(jnp.ones((3, 2)))",
    ),
    Example(
        "the carry of a scan, an alias, a list of tracers",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from numpy import maximum as largest
        import numpy as np

        def roll(scale, state, xs):
            def body(carry, x):
                total = np.mean([carry, x])  # bad
                return largest(carry, x) * scale, total  # bad

            return jax.lax.scan(body, state, xs)

        rolled = jax.jit(partial(roll, 2.0))
        """,
        raises="TracerArrayConversionError",
        run="rolled(jnp.float32(0), jnp.ones(3))",
    ),
    Example(
        "a table of NumPy, read at a traced place",
        """
        import jax
        import numpy as np

        weights = np.linspace(0.0, 1.0, 16)

        @jax.vmap
        def pick(i):
            return weights[i * 2]  # bad
        """,
        raises="TracerArrayConversionError",
        run="import jax.numpy as jnp\npick(jnp.arange(3))",
    ),
    Example(
        "Python numbers",
        """
        import math
        import jax
        import jax.numpy as jnp

        @jax.jit
        def schedule(loss, steps):
            scale = math.sqrt(jnp.sum(loss))  # bad
            last = float(loss[-1])  # bad
            return scale * last, loss.mean().item()  # bad
        """,
        raises="ConcretizationTypeError",
        run="schedule(jnp.ones(3), 2)",
    ),
    Example(
        "derivatives alone, of what becomes a float of Python",
        """
        import math
        import jax
        import jax.numpy as jnp

        def scaled(x):
            return x * float(x)  # bad

        def rooted(w):
            return w.sum() * math.sqrt(jnp.sum(w * 2))  # bad

        def listed(w):
            return sum(w.tolist())  # bad

        slopes = jax.grad(rooted), jax.value_and_grad(listed), jax.grad(scaled)
        """,
        run="slopes[0](jnp.ones(3))",
        raises="ConcretizationTypeError",
    ),
)

GOOD = (
    Example(
        "shapes, constants and dtypes",
        """
        import math
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def encode(x):
            width = int(np.prod(x.shape[1:]))
            table = np.arange(width, dtype=np.float32)[None, :]
            scale = 1.0 / math.sqrt(width) + float(np.sqrt(len(x)))
            low = float(np.finfo(np.float32).min)
            y = x.reshape(x.shape[0], width) * scale + table
            return jnp.where(y > 0, y, low), np.dtype(x.dtype).itemsize
        """,
        run="encode(jnp.ones((2, 3)))",
    ),
    Example(
        "functions that hand the call to the array",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def reduce(x):
            best = np.argmax(x)
            return np.sum(x) + np.max(x, axis=0) + np.reshape(x, (-1,))[0] * np.ones(2)[0], best, np.shape(x)
        """,
        run="reduce(jnp.ones(4))",
    ),
    Example(
        "static arguments and fields",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        import numpy as np

        @partial(jax.jit, static_argnames=("levels",))
        def pyramid(x, levels):
            sizes = np.log2(np.array(levels)).astype(int)
            return [x * float(size) for size in sizes] + [x[np.array([1, 0])]]

        @partial(jax.jit, static_argnums=0)
        def grid(n, x):
            return x * np.linspace(0, 1, n).sum()
        """,
        run="pyramid(jnp.ones(2), (2, 4)); grid(3, jnp.ones(2))",
    ),
    Example(
        "on the host, and in a callback",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def step(x):
            def save(value):
                print(np.sqrt(value))

            jax.debug.callback(save, x)
            return jax.pure_callback(lambda v: np.sin(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x)

        def fit(x):
            y = np.asarray(step(x))
            return float(np.log(y).sum()), y.tolist()
        """,
        run="fit(jnp.ones(2))",
    ),
    Example(
        "asked only of what is no tracer",
        """
        import jax
        import numpy as np

        EAGER = False

        @jax.jit
        def scaled(x, scale):
            if not isinstance(scale, jax.core.Tracer):
                return x * np.sqrt(scale)
            if EAGER:
                return x * np.sqrt(scale)
            return x * scale
        """,
        run="import jax.numpy as jnp\nscaled(jnp.ones(2), 3.0)",
    ),
    Example(
        "derivatives alone, of what has none; a conversion that must be refused",
        """
        import math
        import unittest
        import jax
        import jax.numpy as jnp

        def powers(x):
            for _ in range(int(x)):
                x = x * 2
            return x * float(x > 0) * math.floor(jax.lax.stop_gradient(x)) * float(jnp.argmax(x))

        def slope(x):
            return jax.grad(powers)(x)

        class Refused(unittest.TestCase):
            def test_float(self):
                @jax.jit
                def f(x):
                    with self.assertRaises(TypeError):
                        float(x)
                    return x

                f(1.0)
        """,
        run="slope(2.0), Refused('test_float').debug()",
    ),
)

RULE = SourceRule(
    code="JIT113",
    name="numpy-on-tracer",
    severity="error",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
