"""A partition spec has more entries than its array has dimensions.

## What it does
Counts the entries of a PartitionSpec and the dimensions of the array that it is used for, where both are written:
`with_sharding_constraint`, `device_put`, `reshard`, and the arguments of a function under `shard_map`.

## Why is this bad?
Each entry places one dimension. One too many is a ValueError at the first call on a mesh, often after the shape of the
array was changed elsewhere (https://github.com/patrick-kidger/equinox/issues/738).

## Example
    x = jnp.zeros((8, 128))
    x = jax.device_put(x, NamedSharding(mesh, PartitionSpec("data", None, None)))

## Use instead
    x = jnp.zeros((8, 128))
    x = jax.device_put(x, NamedSharding(mesh, PartitionSpec("data", None)))

## What stays clean
Specs with fewer entries than dimensions (the rest is not split), arrays whose shape is not written, starred specs,
trees.

## References
- https://docs.jax.dev/en/latest/_autosummary/jax.sharding.PartitionSpec.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..axes import SHARD_MAPS, named, spec_call
from ..facts import FileFacts
from ..ranks import rank
from ..records import Call
from ..rule import Example, SourceRule
from ..values.value import Value

_PLACES = frozenset(
    {"jax.lax.with_sharding_constraint", "jax.device_put", "jax.reshard", "jax.sharding.reshard", "jax.lax.reshard"}
)


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            for array, spec in _pairs(facts, call):
                found = _entries(facts, spec)
                dimensions = rank(facts, array) if found is not None else None
                if found is None or dimensions is None or found <= dimensions:
                    continue
                called = facts.text(getattr(call.node, "func", call.node))
                yield facts.finding(
                    RULE,
                    call.node,
                    f"the spec places {found} dimensions, and the array has {dimensions}",
                    subject=f"{function.name}: {called} with {found} entries",
                    help="one entry for each dimension, or fewer",
                )


def _pairs(facts: FileFacts, call: Call) -> Iterator[tuple[Value, Value]]:
    """Arrays with the specs that are given for them."""
    callee = facts.callee(call)
    if callee.name in _PLACES and not callee.wraps and not callee.bound and call.args:
        spec = call.argument(1)
        for name in ("shardings", "device", "out_shardings"):
            spec = spec or call.keywords.get(name)
        if spec is not None:
            yield call.args[0], spec
    elif callee.wraps and callee.wraps[0].name in SHARD_MAPS and not callee.bound:
        specs = callee.wraps[0].options.get("in_specs")
        if specs is not None and specs.op == "tuple":
            yield from zip(call.args, specs.args, strict=False)
        elif specs is not None and len(call.args) == 1:
            yield call.args[0], specs


def _entries(facts: FileFacts, value: Value) -> int | None:
    sharding = named(facts, value)
    spec = spec_call(facts, sharding[1] if sharding is not None else value)
    if spec is None or any(each.op == "star" for each in spec.args):
        return None
    return len(spec.args)


BAD = (
    Example(
        "a spec for three dimensions",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P

        mesh = jax.make_mesh((1,), ("data",))

        def place():
            x = jnp.zeros((8, 128))
            return jax.device_put(x, NamedSharding(mesh, P("data", None, None)))  # bad
        """,
        run="place()",
        raises="ValueError",
    ),
    Example(
        "a helper of another file makes the array, and the sharding has a name",
        """
        import jax
        from jax.sharding import NamedSharding, PartitionSpec
        from arrays import tokens

        rows = NamedSharding(jax.make_mesh((1,), ("data",)), PartitionSpec("data", None))
        batch = tokens(4)
        placed = jax.device_put(batch, device=rows)  # bad
        """,
        files={
            "arrays.py": """
            import jax.numpy as jnp

            def tokens(count):
                return jnp.arange(count) * 2
            """
        },
        run="pass",
        raises="ValueError",
    ),
    Example(
        "under shard_map, and in a constraint",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from jax.sharding import PartitionSpec as P

        mesh = jax.make_mesh((1,), ("x",))

        @partial(jax.shard_map, mesh=mesh, in_specs=(P("x", None), P("x")), out_specs=P("x"))
        def scaled(a, b):
            return a * b

        def run(values):
            flat = values.reshape(-1)
            flat = jax.lax.with_sharding_constraint(flat, P("x", None))  # bad
            return scaled(jnp.ones(4), flat)  # bad
        """,
        run="scaled(jnp.ones(4), jnp.ones(4))",
        raises="ValueError",
    ),
)

GOOD = (
    Example(
        "one entry for each dimension, or fewer",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P

        mesh = jax.make_mesh((1, 1), ("data", "model"))
        full = jax.device_put(jnp.zeros((8, 4)), NamedSharding(mesh, P("data", "model")))
        fewer = jax.device_put(jnp.zeros((8, 4, 2)), NamedSharding(mesh, P(("data", "model"))))
        nowhere = jax.device_put(jnp.ones(()), NamedSharding(mesh, P()))
        """,
        run="pass",
    ),
    Example(
        "shapes that are not written",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P

        def place(x, mesh, shape, names):
            y = jnp.zeros(shape)
            z = jnp.ones((2, *shape))
            one = jax.device_put(x, NamedSharding(mesh, P("data", None, None)))
            two = jax.device_put(y, NamedSharding(mesh, P("data", None, None)))
            return one, two, jax.device_put(z, NamedSharding(mesh, P("data", None, None, None))), P(*names)
        """,
    ),
    Example(
        "a dimension that is added",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P

        mesh = jax.make_mesh((1,), ("data",))
        rows = jax.device_put(jnp.arange(4)[:, None], NamedSharding(mesh, P("data", None)))
        table = jax.device_put(jnp.arange(4).reshape(2, 2) + 1, NamedSharding(mesh, P("data", None)))
        """,
        run="pass",
    ),
    Example(
        "a tree, and a spec for all of it",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P

        mesh = jax.make_mesh((1,), ("data",))
        tree = jax.device_put({"w": jnp.zeros((2, 2)), "b": jnp.zeros(2)}, NamedSharding(mesh, P("data")))
        """,
        run="pass",
    ),
)

RULE = SourceRule(
    code="SHD103",
    name="spec-rank-mismatch",
    severity="error",
    confidence="certain",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
)
