"""A mean over what a mask keeps is nan where the mask keeps nothing.

## What it does
Reports `jnp.sum(x * mask) / jnp.sum(mask)` and other spellings of it, `jnp.mean(x, where=mask)` and
`jnp.average(x, weights=mask)` among them, where nothing keeps the count away from zero.

## Why is this bad?
One batch, or one shard of one, with no valid position is enough: zero divided by zero is nan, it goes into the loss,
and the next update writes it into every weight. It comes days into a run, with the first document that is all padding
(https://github.com/google/maxtext/commit/6c187316, https://github.com/google/maxtext/commit/83ea3148).

## Example
    loss = jnp.sum(token_loss * mask) / jnp.sum(mask)

## Use instead
    loss = jnp.sum(token_loss * mask) / jnp.maximum(jnp.sum(mask), 1)

## What stays clean
Counts under `maximum`, `clip` or `where`, with an epsilon, or asked about before; weights that are no mask (softmax
weights are never all zero); products with a mask that are no sums; sums that are divided by a size, and NumPy on the
host.

## References
- https://docs.jax.dev/en/latest/_autosummary/jax.numpy.mean.html
- https://docs.jax.dev/en/latest/_autosummary/jax.numpy.average.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..formulas import alike, applied, followed, inside, is_asked, is_jax, unshaped
from ..masks import counted, is_called_mask, is_mask, masked_mean, ratios
from ..records import Function, Record
from ..rule import Example, SourceRule
from ..values.value import Value


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for record, mask, count in _means(facts, function):
            if is_asked(facts, record, mask, *([count] if count is not None else [])):
                continue
            yield facts.finding(
                RULE,
                record.node,
                "a mean over what a mask keeps: nan where it keeps nothing",
                subject=f"{function.name}: {facts.text(record.node)}",
                because=facts.why(function),
                help="divide by jnp.maximum(count, 1)",
            )


def _means(facts: FileFacts, function: Function) -> Iterator[tuple[Record, Value, Value | None]]:
    """Divisions by the count of a mask that the dividend was masked with: the mask, and the count."""
    for record, over, under in ratios(facts, function):
        count = followed(facts, unshaped(facts, under))
        mask = counted(facts, count)
        if mask is None or not (is_mask(facts, mask) or is_called_mask(facts, count, mask)) or not is_jax(facts, count):
            continue
        total = applied(facts, followed(facts, unshaped(facts, over)))
        if total is None or total.name not in ("sum", "nansum"):
            continue
        if any(alike(unshaped(facts, part), mask) for part in inside(facts, total.args[0])):
            yield record, mask, under
    for call in function.calls:
        mask = masked_mean(facts, call)
        if mask is not None and is_mask(facts, mask):
            yield call, mask, None


BAD = (
    Example(
        "a loss over valid tokens",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def loss(token_loss, mask):
            return jnp.sum(token_loss * mask) / jnp.sum(mask)  # bad
        """,
        run="assert jnp.isnan(loss(jnp.ones(3), jnp.zeros(3)))",
    ),
    Example(
        "sums from a helper of another file, a mask made by a comparison",
        """
        import jax
        import jax.numpy as jnp
        from sums import masked_sums

        def loss_fn(weights, batch):
            errors = (batch["x"] @ weights - batch["y"]) ** 2
            total, count = masked_sums(errors, batch["y"] != -1)
            return total / count  # bad

        step = jax.jit(jax.value_and_grad(loss_fn))
        """,
        files={
            "sums.py": """
            from jax import numpy as xp

            def masked_sums(values, keep):
                keep = keep.astype(xp.float32)
                return (values * keep).sum(), keep.sum()

            def accuracy(hits, labels):
                known = ~xp.isnan(labels)
                return xp.divide(xp.where(known, hits, 0).sum(), xp.sum(known))  # bad
            """
        },
        run="assert jnp.isnan(step(jnp.ones(2), {'x': jnp.ones((1, 2)), 'y': -jnp.ones(1)})[0])",
    ),
    Example(
        "masks of which only their name is known, chosen by before",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def pooled(scores, attn_mask, window, local):
            if local is not None:
                attn_mask *= window
            scores = jnp.where(attn_mask[..., None], scores, -1e9)
            return jnp.sum(scores[..., 0] * attn_mask) / jnp.sum(attn_mask)  # bad

        @jax.jit
        def centred(scores, mask):
            largest = jnp.max(jnp.where(jnp.asarray(mask), scores, 0.0))
            return largest - (scores * mask).sum() / mask.sum()  # bad
        """,
        run="assert jnp.isnan(pooled(jnp.ones((3, 1)), jnp.zeros(3), jnp.ones(3), 1))\n"
        "assert jnp.isnan(centred(jnp.ones(3), jnp.zeros(3)))",
    ),
    Example(
        "mean with where, average with weights",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp
        from jax.numpy import average

        def pooled(scale, x, valid):
            a = jnp.mean(x, axis=0, where=valid)  # bad
            b = average(x, axis=0, weights=valid.astype(x.dtype))  # bad
            return scale * (a + b)

        pool = jax.jit(partial(pooled, 2.0))
        """,
        run="assert jnp.isnan(pool(jnp.ones(3), jnp.zeros(3, bool)))",
    ),
)

GOOD = (
    Example(
        "a count of at least one",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def loss(token_loss, mask, eps=1e-6):
            total = jnp.sum(token_loss * mask)
            a = total / jnp.maximum(jnp.sum(mask), 1)
            b = total / (mask.sum() + eps)
            c = total / jnp.clip(jnp.sum(mask), 1.0)
            count = jnp.sum(mask)
            return a + b + c + total / jnp.where(count == 0, 1.0, count)
        """,
        run="assert jnp.isfinite(loss(jnp.ones(3), jnp.zeros(3)))",
    ),
    Example(
        "a mask of padding that a library makes, which always keeps something",
        """
        import jax
        import jax.numpy as jnp
        import jraph

        @jax.jit
        def accuracy(graph, hits):
            mask = jraph.get_graph_padding_mask(graph)
            return jnp.sum(hits * mask) / jnp.sum(mask)
        """,
    ),
    Example(
        "asked about, or added up over devices first",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def mean(x, mask):
            count = jnp.sum(mask)
            return jnp.where(count > 0, jax.lax.stop_gradient(jnp.sum(x * mask) / count), 0.0)

        def shared(x, mask):
            total, count = jax.lax.psum((jnp.sum(x * mask), jnp.sum(mask)), "data")
            return total / count
        """,
        run="mean(jnp.ones(3), jnp.zeros(3))",
    ),
    Example(
        "weights that are never all zero",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def expected(scores, values):
            weights = jnp.exp(scores - scores.max())
            return jnp.sum(weights * values) / jnp.sum(weights)

        @jax.jit
        def tangent(x, slope):
            support = x > 0
            share = jnp.mean(slope, where=(x == x.max()))
            return share + support * slope - jnp.dot(support, slope) / jnp.sum(support) * support
        """,
        run="expected(jnp.ones(3), jnp.ones(3)); tangent(jnp.ones(3), jnp.ones(3))",
    ),
    Example(
        "a size, and NumPy on the host",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def mean(x, mask):
            return jnp.sum(x * mask) / x.size

        def report(hits, mask):
            return np.sum(hits * mask) / np.sum(mask), hits[mask].mean()
        """,
        run="mean(jnp.ones(2), jnp.ones(2)); report(np.ones(2), np.ones(2, bool))",
    ),
)

RULE = SourceRule(
    code="NUM103",
    name="unguarded-mask-mean",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
