"""Gradients are clipped after the optimizer has used them.

## What it does
Reports `optax.chain(optax.adam(...), optax.clip_by_global_norm(...))`: a clip behind a complete optimizer, or behind
`scale_by_learning_rate`.

## Why is this bad?
A chain runs from left to right. Behind the optimizer the clip sees updates of the size of the learning rate, far below
its limit, so it does nothing, while a gradient that explodes has gone into the moments already. The run looks as if
clipping did not help (https://github.com/awslabs/graphstorm/issues/1366 is the same fault in another framework).

## Example
    tx = optax.chain(optax.adam(1e-3), optax.clip_by_global_norm(1.0))

## Use instead
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))

## What stays clean
A clip before the optimizer, and clips of updates between `scale_by_*` parts (`clip_by_block_rms` in adafactor), which
are there on purpose; chains whose order is not in sight; tests.

## References
- https://optax.readthedocs.io/en/latest/api/combining_optimizers.html
- https://optax.readthedocs.io/en/latest/api/transformations.html#optax.clip_by_global_norm
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..optimizers import made_of, sequence
from ..rule import Example, SourceRule

_OPTIMIZERS = frozenset(
    f"optax.{name}"
    for name in (
        "adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw", "adamw", "adan", "amsgrad",
        "fromage", "lamb", "lars", "lion", "nadam", "nadamw", "noisy_sgd", "novograd", "radam", "rmsprop", "rprop",
        "sgd", "sign_sgd", "sm3", "yogi", "scale_by_learning_rate", "contrib.muon", "contrib.prodigy",
        "contrib.ademamix", "contrib.sophia", "contrib.schedule_free_adamw", "contrib.schedule_free_sgd",
    )
)  # fmt: skip
_CLIPS = frozenset({"optax.clip_by_global_norm", "optax.clip", "optax.adaptive_grad_clip"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            callee = facts.callee(call)
            if callee.name != "optax.chain" or callee.wraps or call.decorates is not None:
                continue
            before: str | None = None
            for part in sequence(facts, [*callee.bound, *call.args]):
                names = [name for name, _ in made_of(facts, part)]
                if before is not None and names[:1] and names[0] in _CLIPS:
                    yield facts.finding(
                        RULE,
                        call.node,
                        f"{names[0]} stands behind {before}: it clips the updates, not the gradients",
                        subject=f"{function.name}: {facts.text(call.node)}",
                        because=facts.why(function),
                        help="put the clip first in the chain",
                    )
                    break
                before = next((name for name in names if name in _OPTIMIZERS), before)


BAD = (
    Example(
        "a clip behind adam",
        """
        import optax

        def make(rate):
            return optax.chain(  # bad
                optax.adam(rate),
                optax.clip_by_global_norm(1.0),
            )
        """,
        run=(
            "import jax.numpy as jnp\nimport optax\n"
            "p = jnp.zeros(2)\n"
            "def after(tx):\n"
            "    state = tx.init(p)\n"
            "    for g in (jnp.full(2, 1e6), jnp.ones(2)):\n"
            "        updates, state = tx.update(g, state)\n"
            "    return abs(updates[0])\n"
            "right = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.1))\n"
            "assert after(make(0.1)) < after(right)"
        ),
    ),
    Example(
        "a list that grows, and an optimizer of another file",
        """
        from functools import partial
        import optax
        from optimizers_here import base

        def make(config):
            parts = [base(config.rate)]
            if config.clip:
                parts.append(optax.clip(config.clip))
            return optax.chain(*parts)  # bad
        """,
        files={
            "optimizers_here.py": """
            import optax as ox

            def base(rate):
                return ox.lion(rate)
            """
        },
        run="from types import SimpleNamespace as S\nmake(S(rate=0.1, clip=1.0))",
    ),
    Example(
        "by an alias, behind the learning rate",
        """
        import optax
        from optax import chain as together, clip_by_global_norm as clipped

        transform = together(optax.scale_by_adam(), optax.scale_by_learning_rate(1e-3), clipped(1.0))  # bad
        """,
        run="transform.init(1.0)",
    ),
)

GOOD = (
    Example(
        "the clip is first",
        """
        import optax

        def make(rate, clip):
            parts = []
            if clip:
                parts.append(optax.clip_by_global_norm(clip))
            parts.append(optax.adamw(rate))
            return optax.chain(*parts), optax.chain(optax.clip(1.0), optax.adam(rate))
        """,
        run="make(0.1, 1.0)",
    ),
    Example(
        "updates are clipped on purpose",
        """
        import optax

        def make(rate):
            return optax.chain(
                optax.scale_by_factored_rms(), optax.clip_by_block_rms(1.0), optax.scale_by_learning_rate(rate)
            )

        def scaled(rate):
            return optax.chain(optax.scale_by_adam(), optax.clip(1.0), optax.scale_by_learning_rate(rate))
        """,
        run="make(0.1), scaled(0.1)",
    ),
    Example(
        "an order that is not in sight",
        """
        import optax

        def make(parts, extra):
            return optax.chain(*parts, optax.clip(1.0)), optax.chain(extra, optax.clip_by_global_norm(1.0))
        """,
        run="import optax\nmake([optax.adam(0.1)], optax.identity())",
    ),
    Example(
        "two optimizers, each with its clip",
        """
        import optax

        def make(rate):
            actor = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
            critic = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate), optax.scale(0.5))
            return actor, critic
        """,
        run="make(0.1)",
    ),
)

RULE = SourceRule(
    code="SEM104",
    name="clip-after-optimizer",
    severity="info",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
