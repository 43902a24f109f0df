"""A loss is summed over devices inside the function that is differentiated.

## What it does
Reports `psum` and `pmean` in what a function returns as its loss, where that function is handed to `grad` or
`value_and_grad` inside the mapped function, and the gradients are not averaged right after it.

## Why is this bad?
Under `pmap`, and under `shard_map` without its check, the gradient of a sum over devices is itself a sum over devices:
each device gets its own share times the number of devices. Added up with `psum`, gradients are too large by that
number; left as they are, each device goes its own way; only `pmean` makes them right again, by accident
(https://github.com/jax-ml/jax/issues/3970).

## Example
    def loss(params, batch):
        return jax.lax.pmean(jnp.mean((batch @ params) ** 2), "data")

    grads = jax.lax.psum(jax.grad(loss)(params, batch), "data")

## Use instead
    def loss(params, batch):
        return jnp.mean((batch @ params) ** 2)

    grads = jax.lax.pmean(jax.grad(loss)(params, batch), "data")

## What stays clean
Sums that the parameters do not go into (`psum(1, axis)`, the number of tokens), sums of what is not differentiated
(`stop_gradient`, auxiliary results), gradients that `pmean` averages in the same function, `shard_map` (with its check
it is right), tests.

## References
- https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..records import Call, Function
from ..rule import Example, SourceRule
from ..values.value import Parameter, Value

_MEAN = "jax.lax.pmean"
_SUMS = frozenset({"jax.lax.psum", "jax.lax.pmean"})
_GRADS = frozenset({"jax.grad", "jax.value_and_grad", "equinox.filter_grad", "equinox.filter_value_and_grad"})
DEEPEST = 10


def check(facts: FileFacts) -> Iterable[Finding]:
    told: set[int] = set()
    live = {each.id: each for each in facts.functions}
    for function in facts.functions:
        for call in function.calls:
            maker = facts.callee(call)
            if maker.name not in _GRADS or maker.wraps:
                continue
            callee = facts.callee(call.result)
            loss = live.get(callee.function.id) if callee.function is not None else None
            if loss is None or not callee.wraps:
                continue
            aux = facts.constant(callee.wraps[0].options.get("has_aux")) is True
            first = facts.constant(callee.wraps[0].options.get("argnums"))
            at = len(callee.bound) + (first if type(first) is int else 0)
            if _is_averaged(facts, function, call.result) or _is_sharded(facts, loss) or at >= len(loss.parameters):
                continue
            for summed in _sums(facts, loss, aux):
                if id(summed) in told or not _holds(summed.args[0], loss.parameters[at], set()):
                    continue
                told.add(id(summed))
                yield facts.finding(
                    RULE,
                    summed.node,
                    f"{facts.text(summed.node)} is differentiated: its gradient is summed over the devices once more",
                    subject=f"{loss.name}: {facts.callee(summed).name}",
                    because=facts.why(loss),
                    help="differentiate the loss of one device, and average gradients and loss after it",
                )


def _sums(facts: FileFacts, loss: Function, aux: bool) -> Iterator[Call]:
    for each in loss.returns:
        value = each.value
        if aux and value.op == "tuple" and value.args:
            value = value.args[0]
        yield from _within(facts, value, set(), 0)


def _within(facts: FileFacts, value: Value, seen: set[int], depth: int) -> Iterator[Call]:
    """The sums over devices that a loss is made of."""
    if id(value) in seen or depth > DEEPEST:
        return
    seen.add(id(value))
    if value.op in ("bin", "unary", "phi", "tuple", "item", "attr"):
        for each in value.args[:1] if value.op in ("item", "attr") else value.args:
            yield from _within(facts, each, seen, depth + 1)
        return
    if value.op != "call" or value.data.block is None:
        return
    call: Call = value.data
    name = facts.callee(call).name
    if name in _SUMS and call.args:
        if facts.kind(call.args[0]) not in ("static", "host"):
            yield call
        return
    if name is None or name.endswith(("stop_gradient", ".axis_index", ".axis_size")):
        return
    if name.startswith("jax.numpy."):
        for each in call.args:
            yield from _within(facts, each, seen, depth + 1)


def _is_sharded(facts: FileFacts, loss: Function) -> bool:
    """Whether a shard_map is round it: with its check it gives the right gradient."""
    found = [facts.traced(each) for each in loss.chain()]
    return any("shard_map" in str(each.transform) or "shard_map" in str(each) for each in found if each is not None)


def _is_averaged(facts: FileFacts, function: Function, made: Value) -> bool:
    """Whether the gradients are averaged over devices in the same function."""
    results = {id(each.result) for each in function.calls if each.func is made}
    for call in function.calls:
        name = facts.callee(call).name
        mapped = name is not None and name.endswith(("tree.map", "tree_map")) and call.args[0].op == "function"
        averages = name == _MEAN or (
            mapped and any(facts.callee(each).name == _MEAN for each in call.args[0].data.calls)
        )
        if averages and any(_contains(each, results) for each in call.args):
            return True
    return False


def _contains(value: Value, wanted: set[int], depth: int = 0) -> bool:
    if id(value) in wanted:
        return True
    return depth < DEEPEST and value.op != "call" and any(_contains(each, wanted, depth + 1) for each in value.args)


def _holds(value: Value, parameter: Parameter, seen: set[int]) -> bool:
    """Whether a value is made of a parameter."""
    if id(value) in seen or len(seen) > 500:
        return False
    seen.add(id(value))
    if value.op == "param":
        return value.data is parameter
    if value.op == "call":
        call: Call = value.data
        return any(_holds(each, parameter, seen) for each in (call.func, *call.args, *call.keywords.values()))
    return any(_holds(each, parameter, seen) for each in value.args if isinstance(each, Value))


BAD = (
    Example(
        "the mean loss of all devices",
        """
        import functools
        import jax
        import jax.numpy as jnp

        def loss(params, batch):
            return jax.lax.pmean(jnp.mean((batch @ params) ** 2), "data")  # bad

        @functools.partial(jax.pmap, axis_name="data", in_axes=(None, 0))
        def step(params, batch):
            return jax.lax.psum(jax.grad(loss)(params, batch), "data")
        """,
        run="""
whole = jax.grad(lambda p, b: jnp.mean((b @ p) ** 2))
params, batch = jnp.ones(2), jnp.arange(8.0).reshape(4, 1, 2)
assert jnp.allclose(step(params, batch)[0], 4 * whole(params, batch.reshape(4, 2)))
""",
    ),
    Example(
        "with an auxiliary result, through an alias",
        """
        import jax
        import jax.numpy as jnp
        from jax import lax, value_and_grad as vg

        def train_step(params, batch):
            def objective(p):
                errors = (batch @ p) ** 2
                total = lax.psum(jnp.sum(errors), axis_name="hosts")  # bad
                return total / 8 + 0.1 * jnp.sum(p * p), {"errors": lax.psum(errors, "hosts")}

            (value, aux), grads = vg(objective, has_aux=True)(params)
            return value, grads, aux

        parallel = jax.pmap(train_step, axis_name="hosts")
        """,
        run="parallel(jnp.ones((1, 2)), jnp.ones((1, 2, 2)))",
    ),
    Example(
        "a method",
        """
        import jax
        import jax.numpy as jnp

        class Learner:
            def __init__(self):
                self.update = jax.pmap(self.step, axis_name="i")

            def loss(self, params, batch):
                mean = jax.lax.pmean(jnp.mean(batch @ params), "i")  # bad
                return jnp.square(mean)

            def step(self, params, batch):
                return params - jax.grad(self.loss)(params, batch)
        """,
        run="Learner().update(jnp.ones((1, 2)), jnp.ones((1, 2, 2)))",
    ),
)

GOOD = (
    Example(
        "gradients are averaged",
        """
        import functools
        import jax
        import jax.numpy as jnp

        def loss(params, batch):
            devices = jax.lax.psum(1, "data")
            return jnp.mean((batch @ params) ** 2) / devices

        @functools.partial(jax.pmap, axis_name="data")
        def step(params, batch):
            value, grads = jax.value_and_grad(loss)(params, batch)
            return jax.lax.psum(value, "data"), jax.lax.psum(grads, "data")
        """,
        run="step(jnp.ones((1, 2)), jnp.ones((1, 2, 2)))",
    ),
    Example(
        "what is not differentiated",
        """
        import jax
        import jax.numpy as jnp

        def loss(params, batch):
            scale = jax.lax.stop_gradient(jax.lax.pmean(jnp.std(batch), "data"))
            errors = jnp.mean((batch @ params) ** 2)
            return errors / scale, jax.lax.pmean(errors, "data")

        step = jax.pmap(lambda p, b: jax.grad(loss, has_aux=True)(p, b), axis_name="data")
        """,
        run="step(jnp.ones((1, 2)), jnp.arange(4.0).reshape(1, 2, 2))",
    ),
    Example(
        "shard_map with its check",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from jax.sharding import PartitionSpec as P

        mesh = jax.make_mesh((1,), ("data",))

        @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
        def step(params, batch):
            def loss(p):
                return jax.lax.pmean(jnp.mean((batch @ p) ** 2), "data")

            return jax.grad(loss)(params)
        """,
    ),
    Example(
        "averaged after it",
        """
        import jax
        import jax.numpy as jnp

        def loss(params, batch):
            tokens = jax.lax.psum(jnp.sum(batch > 0), "data")
            return jax.lax.pmean(jnp.sum((batch @ params) ** 2), "data") / tokens

        def step(params, batch):
            value, grads = jax.value_and_grad(loss)(params, batch)
            return value, jax.tree.map(lambda g: jax.lax.pmean(g, "data"), grads)

        parallel = jax.pmap(step, axis_name="data")
        """,
        run="parallel(jnp.ones((1, 2)), jnp.ones((1, 2, 2)))",
    ),
    Example(
        "a mean of a metric",
        """
        import jax
        import jax.numpy as jnp

        @jax.pmap
        def plain(x):
            return jnp.mean(x)

        def evaluate(params, batch):
            return jax.lax.pmean(jnp.mean((batch @ params) ** 2), "data")

        evaluate_all = jax.pmap(evaluate, axis_name="data")
        """,
        run="evaluate_all(jnp.ones((1, 2)), jnp.ones((1, 2, 2)))",
    ),
)

RULE = SourceRule(
    code="SHD104",
    name="psum-inside-grad",
    severity="info",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
