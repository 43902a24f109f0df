"""`shard_map` runs with its check of replication switched off.

## What it does
Reports `check_vma=False` and `check_rep=False` in a `shard_map` that is split along an axis which one of its out_specs
leaves out, for another look.

## Why is this bad?
The check proves that what an out_spec calls replicated is the same on every device, and gives `psum` its right
gradient. Without it, values that differ are taken for equal, and sums over devices are counted twice in a gradient, in
silence (https://github.com/jax-ml/jax/issues/19175, https://github.com/jax-ml/jax/issues/3970).

## Example
    @partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=False)
    def mean(x):
        return x.mean(keepdims=True)

## Use instead
    @partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P())
    def mean(x):
        return jax.lax.pmean(x.mean(keepdims=True), "x")

## What stays clean
Outputs that are split along every axis that the arguments are split along (nothing is called replicated), specs that
are not written out, bodies that call Pallas kernels, FFI or callbacks (the check knows nothing of what they give) or
that are not in sight, switches that come in by a variable, tests.

## References
- https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..axes import SHARD_MAPS, spec_call
from ..facts import FileFacts
from ..records import Call
from ..rule import Example, SourceRule
from ..values.value import Value, dotted

_SWITCHES = ("check_vma", "check_rep")
_UNCHECKED = ("pallas_call", "pure_callback", "io_callback", "ffi_call", "custom_partitioning", "kernel")
MOST = 60


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            name = dotted(call.func)
            given = dotted(call.args[0]) if name == "functools.partial" and call.args else None
            if name not in SHARD_MAPS and given not in SHARD_MAPS and facts.callee(call).name not in SHARD_MAPS:
                continue
            off = next((each for each in _SWITCHES if facts.constant(call.keywords.get(each)) is False), None)
            if off is None or not (axes := _replicated(facts, call)) or _needs_it(facts, call, given is not None):
                continue
            yield facts.finding(
                RULE,
                call.node,
                f"{off}=False: nothing proves that what is called replicated along {' and '.join(axes)} is so",
                subject=f"{function.name}: {off}=False",
                help="leave the check on, or say here why the body cannot be checked",
            )


def _replicated(facts: FileFacts, call: Call) -> list[str]:
    """The axes that arguments are split along, and an output is not; none where a spec is not written out."""
    given, made = (
        _specs(facts, call.keywords.get(name) or (call.args[at] if len(call.args) > at else None))
        for name, at in (("in_specs", 2), ("out_specs", 3))
    )
    if not given or not made:
        return []
    return sorted({axis for spec in made for axis in frozenset().union(*given) - spec})


def _specs(facts: FileFacts, value: Value | None) -> list[frozenset[str]] | None:
    """The axes in each partition spec of a tuple of them; None where one is not known."""
    if value is None:
        return None
    if value.op in ("tuple", "list"):
        parts = [_specs(facts, each) for each in value.args]
        return None if any(each is None for each in parts) else [spec for each in parts for spec in each or ()]
    made = spec_call(facts, value)
    axes = [_axes(facts, each) for each in made.args] if made is not None else [None]
    return None if any(each is None for each in axes) else [frozenset().union(*(each or () for each in axes))]


def _axes(facts: FileFacts, value: Value) -> frozenset[str] | None:
    """The axes that one dimension is split along, by what is written there; None where that may be several or none."""
    if value.op in ("tuple", "list"):
        parts = [_axes(facts, each) for each in value.args]
        return None if any(each is None for each in parts) else frozenset().union(*(each or () for each in parts))
    if facts.constant(value) is None:
        return frozenset()
    return facts.strings(value)


def _needs_it(facts: FileFacts, call: Call, partial: bool) -> bool:
    """Whether the body calls what the check cannot look into; a body that is not in sight may."""
    if partial:
        made = [each for each in facts.functions if any(value is call.result for value in each.decorators)]
        bodies = [each.id for each in made]
    else:
        callee = facts.callee(call.result)
        bodies = [callee.function.id] if callee.function is not None else []
    if not bodies:
        return not partial
    live = {each.id: each for each in facts.functions}
    seen: set[str] = set()
    while bodies and len(seen) < MOST:
        id = bodies.pop()
        if id in seen:
            continue
        seen.add(id)
        function = live.get(id)
        if function is None:
            return True
        bodies += [each.id for each in facts.functions if each.parent is function]
        for inner in function.calls:
            if _is_unchecked(inner):
                return True
            callee = facts.callee(inner)
            if callee.function is not None:
                bodies.append(callee.function.id)
    return False


def _is_unchecked(call: Call) -> bool:
    if call.func.op == "param":
        return True  # whatever the caller gives
    name = dotted(call.func) or (call.func.data if call.func.op == "attr" else "")
    return str(name).endswith(_UNCHECKED)


BAD = (
    Example(
        "a decorator",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from jax.sharding import PartitionSpec as P

        mesh = jax.make_mesh((2,), ("x",), devices=jax.devices()[:2])

        @partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=False)  # bad
        def mean(x):
            return x.mean(keepdims=True)
        """,
        run="""
rows = jax.device_put(jnp.arange(4.0), jax.NamedSharding(mesh, P("x")))
shards = [float(each.data[0]) for each in mean(rows).addressable_shards]
assert shards == [0.5, 2.5]
""",
    ),
    Example(
        "a call, under the old name",
        """
        from jax.experimental.shard_map import shard_map
        from jax.sharding import PartitionSpec as P

        def make(mesh):
            def body(x):
                return total(x), twice(x)

            return shard_map(body, mesh, in_specs=(P("x"),), out_specs=(P(), P("x")), check_rep=False)  # bad

        def total(x):
            return x.sum(keepdims=True)

        def twice(x):
            return x * 2
        """,
        also=("removed-jax-api",),
    ),
    Example(
        "a constant switches it off, through an alias",
        """
        import jax
        from jax.sharding import PartitionSpec as P

        CHECK = False
        ROWS = "x"
        sharded = jax.shard_map

        def run(mesh, x):
            return sharded(  # bad
                lambda v: v.sum(1), mesh=mesh, in_specs=P(ROWS, ("y", "z")), out_specs=P(ROWS, "y"), check_vma=CHECK
            )(x)
        """,
        also=("jit-rebuilt-per-call",),
    ),
)

GOOD = (
    Example(
        "the check is on",
        """
        from functools import partial
        import jax
        from jax.sharding import PartitionSpec as P

        def make(mesh):
            @partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=True)
            def mean(x):
                return jax.lax.pmean(x.mean(keepdims=True), "x")

            return mean
        """,
    ),
    Example(
        "a kernel",
        """
        import jax
        from jax.experimental import pallas as pl
        from jax.sharding import PartitionSpec as P

        def double(ref, out):
            out[...] = ref[...] * 2

        def body(x):
            return pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

        def make(mesh):
            return jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=False)
        """,
    ),
    Example(
        "a switch that comes in",
        """
        import jax
        from jax.sharding import PartitionSpec as P

        def make(f, mesh, check):
            return jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=check)
        """,
    ),
    Example(
        "nothing is split",
        """
        import jax
        from jax.sharding import PartitionSpec as P

        def make(mesh):
            return jax.shard_map(lambda v: v * 2, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
        """,
    ),
    Example(
        "outputs are split like the arguments",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import PartitionSpec as P

        def join(mesh, q, k):
            local = lambda a, b: (jnp.concatenate([a, b], axis=-1), a)
            made = (P("x", "y"), P(("y", "x")))
            return jax.shard_map(local, mesh=mesh, in_specs=(P("x", "y"),) * 2, out_specs=made, check_vma=False)

        def swap(mesh):
            return jax.shard_map(
                lambda a: a.T, mesh=mesh, in_specs=(P("x", "y"),), out_specs=P("y", ("x",)), check_vma=False
            )

        def like(mesh, spec):
            return jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)

        def scaled(mesh, axis):
            return jax.shard_map(
                lambda a, b: a * b, mesh=mesh, in_specs=(P(axis), P("x")), out_specs=P(axis, "x"), check_vma=False
            )
        """,
    ),
    Example(
        "a body that is not in sight",
        """
        import jax
        from jax.sharding import PartitionSpec as P

        def make(f, mesh):
            return jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=False)
        """,
    ),
)

RULE = SourceRule(
    code="SHD105",
    name="disabled-replication-check",
    severity="info",
    confidence="likely",
    preview=True,
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
