"""A traced function reads a large array that is no argument of it.

## What it does
Reports where a traced function reads an array of the module, or of a function round it, that is a mebibyte or larger
by its literal shape, or that was loaded from a file. The compiled program tells the exact bytes: `contract-lint
verify` adds them up. This is a hint.

## Why is this bad?
The array becomes a constant of the program: it is copied into it, folded by the compiler for seconds or minutes, held
twice in memory, stored in every cached executable, and a new one is not seen
(https://github.com/jax-ml/jax/issues/10596, https://github.com/jax-ml/jax/issues/14655).

## Example
    table = jnp.zeros((4096, 4096))

    @jax.jit
    def project(x):
        return table @ x

## Use instead
    @jax.jit
    def project(table, x):
        return table @ x

## What stays clean
Small tables, masks and constants; arrays of unknown size; arrays made inside; arguments; host functions; tests.

## References
- https://docs.jax.dev/en/latest/internals/constants.html
- https://github.com/jax-ml/jax/issues/16278
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..records import Function
from ..rule import Example, SourceRule
from ..sizes import LOADED, array_bytes
from ..values.value import Value

LARGE = 2**20
"""Bytes from which a constant is worth an argument. JAX itself warns from 2 GB on."""


def check(facts: FileFacts) -> Iterable[Finding]:
    for function, traced in facts.traced_functions():
        if not traced.staged:
            continue
        seen: set[int] = set()
        for node, name, value in _reads(facts, function):
            if id(value) in seen:
                continue
            seen.add(id(value))
            size = array_bytes(facts, value)
            if size is None or size < LARGE or not _is_outside(facts, function, value):
                continue
            told = "was loaded from a file" if size >= LOADED else f"holds {size / 2**20:.1f} MiB"
            yield facts.finding(
                RULE,
                node,
                f"`{name}` {told} and is read in a traced function: it becomes a constant of the program",
                subject=f"{function.name}: {name}",
                because=facts.why(function),
                help="pass it as an argument; contract-lint verify tells the bytes of all constants",
            )


def _reads(facts: FileFacts, function: Function) -> Iterator[tuple[ast.AST, str, Value]]:
    """The names of outer arrays in the code of a function, those of other files included."""
    for read in function.reads:
        if isinstance(read.node, ast.Name):
            yield read.node, read.node.id, read.value
    used = [(item.node, item.value.args[0]) for item in function.items if item.value.op == "item"]
    used += [(each.node, part) for each in function.arithmetic for part in each.value.args]
    used += [(call.node, part) for call in function.calls for part in (*call.args, *call.keywords.values())]
    for node, value in used:
        if value.op == "name" and (target := facts.program.resolve(value.data)) is not None and target.op != "name":
            yield node, value.data.rpartition(".")[2], target


def _is_outside(facts: FileFacts, function: Function, value: Value) -> bool:
    """Whether an array is made by code that is not traced with the function."""
    maker = value.data.function if value.op == "call" else None
    if maker is None and value.op in ("bin", "attr", "item") and value.args:
        return _is_outside(facts, function, value.args[0])
    if maker is None or maker is function:
        return False
    return maker.name == "<module>" or facts.traced(maker) is None


BAD = (
    Example(
        "an array of the module, read in the body of a loop",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        table = jnp.array(np.random.default_rng(0).standard_normal((512, 1024)))

        @jax.jit
        def project(x):
            def body(i, out):
                return out.at[i].set((table[i] * x).sum())  # bad

            return jax.lax.fori_loop(0, 8, body, jnp.zeros(8))
        """,
        run="assert len(jax.jit(project).lower(jnp.ones(1024)).as_text()) > 4 * table.size",
    ),
    Example(
        "of another file",
        """
        from functools import partial
        import jax
        from tables import WEIGHTS

        def project(scale, x):
            return (x @ WEIGHTS) * scale  # bad

        projected = jax.jit(partial(project, 2.0))
        """,
        files={
            "tables.py": """
            import jax.numpy as jnp

            SIZE = 1024
            WEIGHTS = jnp.ones((SIZE, SIZE), dtype=jnp.float32) * 0.5
            """
        },
        run="import jax.numpy as jnp\nprojected(jnp.ones(1024))",
        also=("backend-at-import",),
    ),
    Example(
        "loaded, and closed over by a step",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        def train(path, params):
            data = jnp.asarray(np.load(path))

            def rows(i):
                return jax.lax.dynamic_slice_in_dim(data, i * 2, 2)  # bad

            @jax.jit
            def step(params, i):
                return params - rows(i).mean()

            for i in range(2):
                params = step(params, i)
            return params
        """,
    ),
)

GOOD = (
    Example(
        "small tables",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        mask = jnp.tril(jnp.ones((64, 64)))
        weights = np.linspace(0.0, 1.0, 16)
        codes = jnp.zeros((256, 4), dtype=jnp.int8)
        flags = jnp.zeros((512, 1024), jnp.int8)

        @jax.jit
        def attend(x):
            return (x @ mask) * weights[0] + codes.sum() + flags.sum()
        """,
        run="attend(jnp.ones(64))",
    ),
    Example(
        "arguments",
        """
        import jax
        import jax.numpy as jnp

        table = jnp.zeros((1024, 1024))

        @jax.jit
        def project(table, x):
            return table @ x

        def run(x):
            return project(table, x)
        """,
        run="run(jnp.ones(1024))",
    ),
    Example(
        "made inside",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def pad(x):
            grid = jnp.zeros((1024, 1024))

            def body(i, grid):
                return grid.at[i].add(x)

            return jax.lax.fori_loop(0, 4, body, grid) + grid
        """,
        run="pad(jnp.ones(1024))",
    ),
    Example(
        "of unknown size, and on the host",
        """
        import jax
        import jax.numpy as jnp

        def make(shape):
            table = jnp.zeros(shape)
            return jax.jit(lambda x: table @ x)

        data = jnp.ones((1024, 1024))

        def host(project):
            return project(jnp.ones(2)), data.sum()
        """,
        run="host(make((2, 2)))",
    ),
)

RULE = SourceRule(
    code="JIT111",
    name="closed-over-array",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
