"""A collective or a partition spec names an axis that nothing binds.

## What it does
Compares the names in partition specs with the axes of the mesh that they are used with, and the names in collectives
with all axes that the program binds (`vmap`, `pmap`, meshes), where all of them are written in it, or else with those
that a `pmap` round the function itself binds.

## Why is this bad?
JAX looks names up while tracing: a collective ends with `NameError: unbound axis name`, a spec with a ValueError that
the mesh has no such axis, at the first run on the real mesh (https://github.com/jax-ml/jax/issues/3120,
https://github.com/google/jaxopt/issues/436).

## Example
    mesh = jax.make_mesh((4, 2), ("data", "model"))
    sharding = NamedSharding(mesh, PartitionSpec("dta", None))

## Use instead
    mesh = jax.make_mesh((4, 2), ("data", "model"))
    sharding = NamedSharding(mesh, PartitionSpec("data", None))

## What stays clean
Names that come in by a variable, meshes that are made elsewhere, programs that bind an axis by a name that is not
written there, functions that nothing here maps or compiles (their caller binds the axis), tests.

## References
- https://docs.jax.dev/en/latest/sharded-computation.html
- https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from ....contracts.finding import Finding
from ..axes import MAPS, SHARD_MAPS, all_axes, mapped_over, mesh_axes, named, names_in, spec_call, specs_in
from ..concrete import is_met
from ..facts import FileFacts
from ..records import Call, Function
from ..rule import Example, SourceRule
from ..transforms import COMPILES
from ..values.value import Value

_COLLECTIVES: dict[str, int] = {
    **{f"jax.lax.{name}": 1 for name in ("psum", "pmean", "pmax", "pmin", "all_gather", "all_to_all", "ppermute")},
    "jax.lax.psum_scatter": 1,
    "jax.lax.axis_index": 0,
    "jax.lax.axis_size": 0,
}
_PLACES = frozenset({"jax.lax.with_sharding_constraint", "jax.reshard", "jax.sharding.reshard"})
_OUTERMOST = frozenset(MAPS) | SHARD_MAPS | COMPILES

_ERRORS = (NameError, ValueError)
"""What JAX raises: the second where a spec names no axis of the mesh."""


def check(facts: FileFacts) -> Iterable[Finding]:
    told: set[int] = set()
    bound = all_axes(facts.program)
    for function in facts.functions:
        for call in function.calls:
            for finding, key in _in_call(facts, function, call, bound):
                if key not in told and not is_met(facts, call, _ERRORS):
                    told.add(key)
                    yield finding


def _in_call(
    facts: FileFacts, function: Function, call: Call, bound: frozenset[str] | None
) -> Iterator[tuple[Finding, int]]:
    callee = facts.callee(call)
    name = callee.name
    sharding = named(facts, call.result)
    if sharding is not None:
        mesh, spec = sharding
        yield from _specs(facts, mesh_axes(facts, mesh), [spec], "certain")
    elif name in SHARD_MAPS:
        given = {**callee.bound_keywords, **call.keywords}
        mesh = given.get("mesh") or (call.args[1] if len(call.args) > 1 else None)
        specs = [given.get("in_specs"), given.get("out_specs"), *call.args[2:4]]
        yield from _specs(facts, mesh_axes(facts, mesh), specs, "certain")
    elif name in _PLACES and len(call.args) > 1:
        yield from _specs(facts, bound, [call.args[1]], "likely")
    elif name in _COLLECTIVES and not callee.wraps:
        here = bound if bound is not None else mapped_over(facts, function)
        if here is not None:
            yield from _collective(facts, function, call, name, here, bound is not None)


def _specs(
    facts: FileFacts, axes: frozenset[str] | None, specs: Iterable[Value | None], confidence: str
) -> Iterator[tuple[Finding, int]]:
    if axes is None:
        return
    for value in specs:
        found = spec_call(facts, value)
        for spec in [found] if found is not None else specs_in(facts, value):
            for name, written in names_in(spec):
                if name not in axes:
                    message = f"no axis of the mesh is called {name!r}: it has {', '.join(sorted(axes))}"
                    yield _finding(facts, spec.node, name, message, axes, confidence), id(written)


def _collective(
    facts: FileFacts, function: Function, call: Call, name: str, bound: frozenset[str], all_known: bool
) -> Iterator[tuple[Finding, int]]:
    traced = facts.traced(function)
    if traced is None or traced.transform not in _OUTERMOST:
        return
    value = call.argument(_COLLECTIVES[name], "axis_name")
    names = facts.strings(value)
    for each in sorted((names or frozenset()) - bound):
        mapped = all_known and (traced.transform not in COMPILES or traced.transform in MAPS)
        message = (
            f"nothing binds the axis {each!r} of {name.removeprefix('jax.')}: bound are {', '.join(sorted(bound))}"
        )
        why = facts.why(function)
        yield _finding(facts, call.node, each, message, bound, "certain" if mapped else "likely", why), id(call)


def _finding(
    facts: FileFacts,
    node: ast.AST,
    name: str,
    message: str,
    axes: frozenset[str],
    confidence: str,
    because: Iterable[str] = (),
) -> Finding:
    near = get_close_matches(name, sorted(axes), 1)
    return facts.finding(
        RULE,
        node,
        message,
        subject=f"axis {name!r}",
        because=because,
        help=f"did you mean {near[0]!r}?" if near else "name an axis that vmap, pmap or the mesh binds",
        confidence=confidence,
    )


BAD = (
    Example(
        "a spec and a collective",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P

        mesh = jax.make_mesh((1, 1), ("data", "model"))

        def centre(x):
            return x - jax.lax.pmean(x, axis_name="batch")  # bad

        centre_all = jax.vmap(centre, axis_name="batches")

        def place(x):
            return jax.device_put(x, NamedSharding(mesh, P(("data", "modle"), None)))  # bad
        """,
        run="centre_all(jnp.ones(3))",
        raises="NameError",
    ),
    Example(
        "the mesh of another file, through a helper and an alias",
        """
        import jax
        from functools import partial
        from jax.sharding import PartitionSpec
        from meshes import default_mesh

        mesh = default_mesh()

        @partial(jax.shard_map, mesh=mesh, in_specs=(PartitionSpec("rows"),), out_specs=PartitionSpec("row"))  # bad
        def double(x):
            return x * 2
        """,
        files={
            "meshes.py": """
            import jax

            AXES = ("rows", "columns")

            def default_mesh():
                return jax.make_mesh((1, 1), AXES)
            """
        },
        run="import jax.numpy as jnp\ndouble(jnp.ones(2))",
        raises="ValueError",
    ),
    Example(
        "under a pmap, in a program that binds other axes by names that are not written there",
        """
        import functools
        import jax
        import jax.numpy as jnp

        def over(function, axis):
            return jax.vmap(function, axis_name=axis)

        class Trainer:
            @functools.partial(jax.pmap, axis_name="devices", static_broadcasted_argnums=0)
            def step(self, grads):
                def reduced(g):
                    return jax.lax.pmean(g, axis_name="device")  # bad

                return jax.tree.map(reduced, grads), jax.lax.psum(1, "devices")
        """,
        run="Trainer().step(jnp.ones((1, 2)))",
        raises="NameError",
    ),
    Example(
        "the mesh is a property",
        """
        import functools
        import jax
        import numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        class Placed:
            @functools.cached_property
            def mesh(self):
                return Mesh(np.asarray(jax.devices()), axis_names=("devices",))

        class Layout(Placed):
            @property
            def first(self):
                return NamedSharding(self.mesh, PartitionSpec("device"))  # bad

            def whole(self):
                return NamedSharding(self.mesh, PartitionSpec())
        """,
        run="Layout().first",
        raises="ValueError",
    ),
    Example(
        "inside a mapped function's helper, by a constant",
        """
        import jax
        import jax.numpy as jnp

        AXIS = "device"

        def reduce_(grads):
            return jax.tree.map(lambda g: jax.lax.psum(g, AXIS), grads)  # bad

        def step(params, batch):
            return params - reduce_(batch)

        parallel = jax.pmap(step, axis_name="devices")
        """,
        run="parallel(jnp.ones((1, 2)), jnp.ones((1, 2)))",
        raises="NameError",
    ),
)

GOOD = (
    Example(
        "names that are bound",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P

        mesh = jax.make_mesh((1, 1), ("data", "model"))
        rows = NamedSharding(mesh, P(("data", "model"), None))
        nothing = NamedSharding(mesh, P(None, ()))

        def centre(x):
            return x - jax.lax.pmean(x, axis_name="batch")

        centre_all = jax.vmap(centre, axis_name="batch")
        """,
        run="centre_all(jnp.ones(3))",
    ),
    Example(
        "names that come in",
        """
        import jax
        from jax.sharding import NamedSharding, PartitionSpec as P

        def rows(mesh, axis):
            return NamedSharding(mesh, P(axis, "anything"))

        def mean(x, axis_name="batch"):
            return jax.lax.pmean(x, axis_name)

        def mapped(f, name):
            return jax.vmap(f, axis_name=name)

        def loss(x):
            return jax.lax.psum(x, "unknown here")

        total = mapped(loss, "unknown here")
        """,
    ),
    Example(
        "the caller binds it",
        """
        import jax

        def normalise(x):
            return x / jax.lax.psum(x, "replica")

        squares = jax.vmap(lambda x: x * x, axis_name="lanes")
        """,
    ),
    Example(
        "a mesh that is made from settings",
        """
        import jax
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        def make(devices, names):
            mesh = Mesh(devices, names)
            return NamedSharding(mesh, PartitionSpec("fsdp", "tensor"))

        @jax.jit
        def constrain(x):
            return jax.lax.with_sharding_constraint(x, PartitionSpec("fsdp"))
        """,
    ),
    Example(
        "a name that must be refused",
        """
        import unittest
        import jax
        import jax.numpy as jnp

        class Refused(unittest.TestCase):
            def test_axis(self):
                with self.assertRaises(NameError):
                    jax.vmap(lambda x: jax.lax.psum(x, "rows"), axis_name="columns")(jnp.ones(2))
        """,
        run="Refused('test_axis').debug()",
    ),
)

RULE = SourceRule(
    code="SHD102",
    name="unknown-axis-name",
    severity="error",
    confidence="certain",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
