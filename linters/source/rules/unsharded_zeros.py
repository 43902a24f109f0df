"""A tree of zeros is made from shapes alone, beside parameters that are spread over devices.

## What it does
Reports `jax.tree.map` on the host with a function that makes `jnp.zeros(x.shape)` (ones, full) of each leaf without a
sharding, in projects that build meshes and in packages (they do not know where the arrays of their users lie).

## Why is this bad?
A new array stands on the first device in full: a shape says nothing of where a parameter is. Moments or accumulators
made so fill one device, and every step moves them to where they belong, in silence
(https://github.com/google/tunix/commit/408ca1d9). `jnp.zeros_like` keeps the sharding of its argument. Where a state
really lies is in a capture: `contract-lint verify` lists each tensor's sharding.

## Example
    accumulated = jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)

## Use instead
    accumulated = jax.tree.map(lambda p: jnp.zeros_like(p, dtype=jnp.float32), params)

## What stays clean
Trees of `ShapeDtypeStruct` and other abstract values, `device=` given, compiled code (the compiler places them), a
`tree.map` whose result is placed by the call round it, scripts without a mesh, trees whose
name says nothing of parameters, gradients or a state, tests.

## References
- https://docs.jax.dev/en/latest/_autosummary/jax.numpy.zeros_like.html
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..pattern import Pattern
from ..records import Call, Function
from ..rule import Example, SourceRule
from ..values.value import Value

_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
_MAKERS = frozenset(f"jax.numpy.{name}" for name in ("zeros", "ones", "full", "empty"))
_ABSTRACT = frozenset({"jax.eval_shape", "flax.nnx.eval_shape", "equinox.filter_eval_shape", "jax.ShapeDtypeStruct"})
_STATE = Pattern(r"(?i)param|grad|updat|weight|variable|state|moment|model|\bema\b|\bopt")
_WORDS = ("abstract", "shape", "struct", "spec", "aval", "dummy", "example", "template")


def check(facts: FileFacts) -> Iterable[Finding]:
    # A library does not know where the arrays of its users lie.
    if "." not in facts.module.name and not any("axes" in each.data for each in facts.program.files.values()):
        return
    for function in facts.host_functions():
        for call in function.calls:
            if facts.callee(call).name not in _MAPS or len(call.args) != 2 or _is_abstract(facts, call.args[1]):
                continue
            if not _STATE.search(facts.text(call.node.args[1]) if len(call.node.args) > 1 else ""):  # type: ignore[attr-defined]
                continue
            made = _makes(facts, call.args[0])
            if made is None or _is_placed(facts, function, call):
                continue
            yield facts.finding(
                RULE,
                call.node,
                f"{made.rpartition('.')[2]} of a shape stand on one device in full, wherever the leaves are",
                subject=f"{function.name}: {facts.text(call.node)}",
                help=f"jnp.{made.rpartition('.')[2]}_like keeps the sharding, or give device=",
            )


def _makes(facts: FileFacts, value: Value) -> str | None:
    """The function of jax.numpy that makes a new array of the shape of each leaf."""
    callee = facts.callee(value)
    function = callee.function
    live = next((each for each in facts.functions if function is not None and each.id == function.id), None)
    if live is None or callee.wraps or not live.parameters:
        return None
    leaf = live.parameters[min(len(callee.bound), len(live.parameters) - 1)]
    for each in live.returns:
        if each.value.op != "call" or each.value.data.block is None:
            continue
        call: Call = each.value.data
        name = facts.callee(call).name
        shape = call.argument(0, "shape")
        if name not in _MAKERS or "device" in call.keywords or shape is None or shape.op != "attr":
            continue
        if shape.data == "shape" and shape.args[0].op == "param" and shape.args[0].data is leaf:
            return name
    return None


def _is_abstract(facts: FileFacts, tree: Value, depth: int = 0) -> bool:
    """Whether the leaves are no arrays: shapes, specs."""
    if depth > 4:
        return False
    if tree.op == "call":
        name = facts.callee(tree.data).name or ""
        if name in _ABSTRACT or any(word in name.lower() for word in _WORDS):
            return True
        return any(_is_abstract(facts, each, depth + 1) for each in tree.data.args)
    if tree.op == "param":
        return any(word in tree.data.name.lower() for word in _WORDS)
    if tree.op == "attr":
        return any(word in tree.data.lower() for word in _WORDS) or _is_abstract(facts, tree.args[0], depth + 1)
    if tree.op in ("item", "phi", "loop"):
        return any(_is_abstract(facts, each, depth + 1) for each in tree.args[:1])
    return False


def _is_placed(facts: FileFacts, function: Function, made: Call) -> bool:
    """Whether the result goes straight into a call that places it."""
    for call in function.calls:
        if any(each is made.result for each in call.args):
            callee = facts.callee(call)
            if callee.name in ("jax.device_put", "jax.lax.with_sharding_constraint", "jax.reshard") or callee.jit:
                return True
    return False


BAD = (
    Example(
        "an accumulator beside sharded parameters",
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding, PartitionSpec as P

        mesh = jax.make_mesh((2,), ("fsdp",), devices=jax.devices()[:2])

        def start(params):
            return jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), params)  # bad
        """,
        run="""
params = {"w": jax.device_put(jnp.ones((4, 2)), NamedSharding(mesh, P("fsdp")))}
assert len(start(params)["w"].devices()) == 1 and len(params["w"].devices()) == 2
assert len(jnp.zeros_like(params["w"]).devices()) == 2
""",
    ),
    Example(
        "a function with a name, under an alias, the mesh in another file",
        """
        import jax.numpy as np
        from jax import tree_util
        from layout import mesh

        def fresh(leaf):
            return np.full(leaf.shape, 0.5, dtype=leaf.dtype)

        class Average:
            def __init__(self, params):
                self.slow = tree_util.tree_map(fresh, params)  # bad
        """,
        files={
            "layout.py": """
            import jax

            def mesh():
                return jax.make_mesh((1,), ("data",))
            """
        },
        run="Average({'w': np.ones(2)})",
    ),
    Example(
        "through a partial",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from jax.sharding import Mesh

        def like(dtype, leaf):
            return jnp.ones(shape=leaf.shape, dtype=dtype)

        def scales(params, devices):
            mesh = Mesh(devices, ("x",))
            with mesh:
                return jax.tree.map(partial(like, jnp.float32), params)  # bad
        """,
        run="scales({'w': jnp.ones(2)}, jax.devices()[:1])",
    ),
)

GOOD = (
    Example(
        "like the leaf, or with a place",
        """
        import jax
        import jax.numpy as jnp

        mesh = jax.make_mesh((1,), ("data",))

        def start(params):
            first = jax.tree.map(jnp.zeros_like, params)
            second = jax.tree.map(lambda p: jnp.zeros_like(p, dtype=jnp.float32), params)
            third = jax.tree.map(lambda p: jnp.zeros(p.shape, p.dtype, device=p.sharding), params)
            return first, second, third, jax.device_put(jax.tree.map(lambda p: jnp.zeros(p.shape), params))
        """,
        run="start({'w': jnp.ones(2)})",
    ),
    Example(
        "abstract leaves",
        """
        import jax
        import jax.numpy as jnp

        mesh = jax.make_mesh((1,), ("data",))

        def example_batch(shapes, init, key):
            first = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)
            second = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), jax.eval_shape(init, key))
            return first, second
        """,
        run="example_batch({}, lambda k: k, jnp.ones(2))",
    ),
    Example(
        "compiled code places them",
        """
        import jax
        import jax.numpy as jnp

        mesh = jax.make_mesh((1,), ("data",))

        @jax.jit
        def start(params):
            return jax.tree.map(lambda p: jnp.zeros(p.shape, p.dtype), params)
        """,
        run="start({'w': jnp.ones(2)})",
    ),
    Example(
        "statistics of inputs",
        """
        import jax
        import jax.numpy as jnp

        mesh = jax.make_mesh((1,), ("data",))

        def counts(nest):
            return jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.int32), nest)
        """,
        run="counts({'w': jnp.ones(2)})",
    ),
    Example(
        "one device",
        """
        import jax
        import jax.numpy as jnp

        def start(params):
            return jax.tree.map(lambda p: jnp.zeros(p.shape, p.dtype), params)
        """,
        run="start({'w': jnp.ones(2)})",
    ),
)

RULE = SourceRule(
    code="SHD106",
    name="unsharded-zeros",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
