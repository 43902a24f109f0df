"""A softmax, a logarithm of sums, a cross entropy or a running sum works in bfloat16 or float16.

## What it does
Reports `jax.nn.softmax`, `log_softmax`, `logsumexp`, variances, cumulative sums and the cross entropies of optax on an
array that was cast to half precision in sight, and sums that a loop gathers in a half-precision array.

## Why is this bad?
bfloat16 has 8 bits: between 4 and 8 its numbers are 1/32 apart. Losses come out on that grid (4.75, 5.0), the sum of
the exponentials over a large vocabulary stops growing, and a gradient added to a large sum is lost as a whole. Training
stalls or diverges, and no error is ever raised (https://github.com/google/flax/issues/677,
https://github.com/google-deepmind/optax/issues/1020, https://github.com/google/flax/issues/4008).

## Example
    logits = (hidden @ head).astype(jnp.bfloat16)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)

## Use instead
    logits = jnp.dot(hidden, head, preferred_element_type=jnp.float32)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels)

Only the program shows every such place: `contract-lint verify` reads the types of its reductions.

## What stays clean
Arrays that are cast to float32 first, or made with `preferred_element_type`; reductions with `dtype=`; `jnp.sum` and
`jnp.mean`, which add in float32 by themselves; what was cast to a type that the source does not name.

## References
- https://github.com/google-deepmind/optax/pull/1567
- https://docs.jax.dev/en/latest/_autosummary/jax.nn.softmax.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..callee import Signature
from ..facts import FileFacts
from ..formulas import applied
from ..halves import is_half
from ..records import Call, Function, Record
from ..rule import Example, SourceRule
from ..values.value import Value

_REDUCTIONS = {
    "softmax": "softmax", "log_softmax": "log_softmax", "logsumexp": "logsumexp", "var": "variance", "std": "deviation",
    "cumsum": "cumulative sum", "cumprod": "cumulative product", "standardize": "standardize",
}  # fmt: skip
_LOSSES = frozenset({
    "softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels", "sigmoid_binary_cross_entropy",
    "safe_softmax_cross_entropy", "poly_loss_cross_entropy", "kl_divergence", "ctc_loss",
})  # fmt: skip
_CARRIES = {"jax.lax.scan": (0, 1), "jax.lax.fori_loop": (2, 3)}


def check(facts: FileFacts) -> Iterable[Finding]:
    if not _may_be_half(facts):
        return
    for function in facts.functions:
        for record, what in (*_reductions(facts, function), *_sums(facts, function)):
            yield facts.finding(
                RULE,
                record.node,
                f"this {what} works in half precision",
                subject=f"{function.name}: {facts.text(record.node)}",
                because=facts.why(function),
                help="cast to float32 first, and back afterwards; contract-lint verify shows what the program does",
            )


def _may_be_half(facts: FileFacts) -> bool:
    """Whether the file, or one of the project that it imports, names a half type at all."""
    text = facts.source.text
    return "float16" in text or "half" in text or "bf16" in text or bool(facts.module.imports)


def _reductions(facts: FileFacts, function: Function) -> Iterator[tuple[Record, str]]:
    for call in function.calls:
        what = _reduction(facts, call)
        if what is not None and call.args and "dtype" not in call.keywords:
            yield call, what


def _reduction(facts: FileFacts, call: Call) -> str | None:
    """What a call reduces in half precision."""
    if call.decorates is not None:
        return None
    name = facts.callee(call).name or ""
    if name.startswith("optax."):
        last = name.rpartition(".")[2]
        logits = call.argument(0, "logits")
        return "cross entropy" if last in _LOSSES and logits is not None and is_half(facts, logits) else None
    made = applied(facts, call.result)
    if made is None or made.name not in _REDUCTIONS or not made.args or "dtype" in made.keywords:
        return None
    return _REDUCTIONS[made.name] if is_half(facts, made.args[0]) else None


def _sums(facts: FileFacts, function: Function) -> Iterator[tuple[Record, str]]:
    """Sums gathered in a half-precision array by a loop of Python, or in the carry of one of JAX."""
    for store in function.stores:
        value = store.value
        if store.kind == "name" and value.op == "bin" and value.data == "Add":
            carried = next((each for each in value.args if each.op == "loop" and each.args[1] is value), None)
            if carried is not None and is_half(facts, carried.args[0]):
                yield store, "sum over the rounds of a loop"
    for call in function.calls:
        name = facts.callee(call).name or ""
        if name in _CARRIES and len(call.args) > max(_CARRIES[name]):
            at, start = _CARRIES[name]
            body, init = facts.callee(call.args[at]), call.args[start]
            if is_half(facts, init) and _adds(facts, body.function, 1 if name.endswith("fori_loop") else 0):
                yield call, "sum in the carry of a loop"


def _adds(facts: FileFacts, body: Signature | None, position: int) -> bool:
    """Whether the body of a loop, a function of this file, returns its carry plus something."""
    function = next((each for each in facts.functions if body is not None and each.id == body.id), None)
    if function is None or len(function.parameters) <= position:
        return False
    for each in function.returns:
        value = each.value
        if value.op == "tuple" and value.args and position == 0:
            value = value.args[0]
        if (
            value.op == "bin"
            and value.data == "Add"
            and any(_is_carry(part, function, position) for part in value.args)
        ):
            return True
    return False


def _is_carry(value: Value, function: Function, position: int) -> bool:
    return value.op == "param" and value.data is function.parameters[position]


BAD = (
    Example(
        "a softmax and a cross entropy",
        """
        import jax
        import jax.numpy as jnp
        import optax

        @jax.jit
        def loss_fn(hidden, head, labels):
            logits = (hidden @ head).astype(jnp.bfloat16)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)  # bad
            return losses.mean(), jax.nn.softmax(logits / 2.0, axis=-1)  # bad
        """,
        run=(
            "loss, p = loss_fn(jnp.ones((1, 2)), jnp.ones((2, 3)), jnp.zeros(1, int))\n"
            "assert str(loss.dtype) == str(p.dtype) == 'bfloat16'"
        ),
    ),
    Example(
        "cast in a helper of another file",
        """
        import jax
        from jax.scipy.special import logsumexp
        from scores import scores

        @jax.jit
        def evidence(q, k):
            s = scores(q, k)
            return logsumexp(s[..., 0], axis=-1)  # bad
        """,
        files={
            "scores.py": """
            import jax.numpy as jnp

            LOW = jnp.bfloat16

            def scores(q, k):
                return jnp.einsum("qd,kd->qk", q.astype(LOW), k.astype(LOW))[..., None]

            def spread(q):
                return jnp.var(jnp.asarray(q, dtype="float16"))  # bad
            """
        },
        run="import jax.numpy as jnp\nassert str(evidence(jnp.ones((2, 2)), jnp.ones((2, 2))).dtype) == 'bfloat16'",
    ),
    Example(
        "sums gathered by loops",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        def total(batches, scale):
            gathered = jnp.zeros((2,), jnp.bfloat16)
            for batch in batches:
                gathered = gathered + batch.astype(jnp.bfloat16)  # bad
            return gathered * scale

        def added(carry, x):
            return carry + x, None

        def folded(xs):
            low = xs.astype(jnp.bfloat16)
            return jax.lax.scan(added, jnp.zeros((), jnp.bfloat16), low)[0], jnp.cumsum(low)  # bad

        fold = jax.jit(partial(folded))
        """,
        run="assert float(fold(jnp.ones(1000))[0]) == 256.0",
    ),
)

GOOD = (
    Example(
        "float32 first",
        """
        import jax
        import jax.numpy as jnp
        import optax

        @jax.jit
        def loss_fn(hidden, head, labels):
            low = hidden.astype(jnp.bfloat16)
            logits = jnp.dot(low, head.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            scores = low @ head.astype(jnp.bfloat16)
            return losses.mean(), jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(jnp.bfloat16)
        """,
        run="loss_fn(jnp.ones((1, 2)), jnp.ones((2, 3)), jnp.zeros(1, int))",
    ),
    Example(
        "sums and means add in float32, and dtype says so for others",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def reduced(x):
            low = x.astype(jnp.bfloat16)
            return jnp.sum(low), low.mean(), jnp.cumsum(low, dtype=jnp.float32), jnp.var(low, dtype=jnp.float32)
        """,
        run="assert float(reduced(jnp.ones(1000))[0]) == 1000.0",
    ),
    Example(
        "met by float32, which wins",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def shares(x, bias):
            return jax.nn.softmax(x.astype(jnp.bfloat16) + bias)
        """,
        run="assert str(shares(jnp.ones(2), jnp.ones(2)).dtype) == 'float32'",
    ),
    Example(
        "a type that is not named, and float32 gatherers",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def gathered(xs, x):
            total = jnp.zeros((), jnp.float32)
            for each in xs:
                total = total + each.astype(jnp.bfloat16)
            return total, jax.nn.softmax(x.astype(xs[0].dtype))
        """,
        run="assert str(gathered([jnp.ones(())], jnp.ones(2))[0].dtype) == 'float32'",
    ),
)

RULE = SourceRule(
    code="NUM104",
    name="half-precision-reduction",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
