"""An optimizer that needs the parameters is asked for updates without them.

## What it does
Reports `tx.update(grads, state)` where `tx` is made, here or in a factory of the project, by an optax transformation
that reads the parameters: adamw, lion, lamb, lars, adafactor, weight decay, trust ratios and others (all of optax was
run to see which).

## Why is this bad?
The first step ends with a ValueError, "You are using a transformation that requires the current value of parameters",
after the data and the model were set up. It shows when plain `adam` is exchanged for `adamw` in a configuration
(https://github.com/google/brax/issues/647, https://github.com/RobertTLange/evosax/issues/108).

## Example
    tx = optax.adamw(1e-3)
    updates, state = tx.update(grads, state)

## Use instead
    updates, state = tx.update(grads, state, params)

Every optax transformation takes the parameters, so passing them always is right.

## What stays clean
adam, sgd and others that do without, optimizers of which the making is not in sight, updates with a star argument,
tests.

## References
- https://optax.readthedocs.io/en/latest/api/optimizers.html#optax.adamw
- https://github.com/google-deepmind/optax/issues/1036
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..optimizers import made_of
from ..rule import Example, SourceRule

# Measured: optax 0.2.8, update(grads, state) of each with its usual arguments.
_NEED = frozenset(
    f"optax.{name}"
    for name in (
        "adadelta", "adafactor", "adamaxw", "adamw", "adan", "adaptive_grad_clip", "add_decayed_weights", "fromage",
        "keep_params_nonnegative", "lamb", "lars", "lbfgs", "lion", "nadamw", "novograd",
        "scale_by_backtracking_linesearch", "scale_by_distance_over_gradients", "scale_by_factored_rms",
        "scale_by_lbfgs", "scale_by_novograd", "scale_by_param_block_norm", "scale_by_param_block_rms",
        "scale_by_trust_ratio", "scale_by_zoom_linesearch", "contrib.acprop", "contrib.ademamix", "contrib.cocob",
        "contrib.dadapt_adamw", "contrib.dog", "contrib.dowg", "contrib.galore", "contrib.madgrad", "contrib.momo",
        "contrib.momo_adam", "contrib.muon", "contrib.prodigy", "contrib.schedule_free_adamw",
        "contrib.schedule_free_sgd", "contrib.simplified_ademamix", "contrib.sophia",
    )
)  # fmt: skip


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            func = call.func
            if func.op != "attr" or func.data != "update" or len(call.args) != 2:
                continue
            if any(name is None or name not in ("updates", "state") for name in call.keywords):
                continue
            if any(each.op == "star" for each in call.args):
                continue
            needs = next((name for name, _ in made_of(facts, func.args[0]) if name in _NEED), None)
            if needs is None:
                continue
            yield facts.finding(
                RULE,
                call.node,
                f"{needs} reads the parameters, and update() is called without them: ValueError",
                subject=f"{function.name}: {facts.text(call.node)}",
                because=facts.why(function),
                help="pass the parameters as third argument",
            )


BAD = (
    Example(
        "weight decay without weights",
        """
        import optax

        tx = optax.adamw(1e-3)

        def step(params, state, grads):
            updates, state = tx.update(grads, state)  # bad
            return optax.apply_updates(params, updates), state
        """,
        raises="ValueError",
        run="import jax.numpy as jnp\np = jnp.ones(2)\nstep(p, tx.init(p), p)",
    ),
    Example(
        "a factory of another file",
        """
        import jax
        from functools import partial
        from factory import make_optimizer

        def step(scale, params, grads):
            optimizer = make_optimizer(1e-3)
            return optimizer.update(grads, optimizer.init(params))[0] * scale  # bad

        fast = jax.jit(partial(step, 2.0))
        """,
        files={
            "factory.py": """
            import optax as ox

            def make_optimizer(rate):
                return ox.chain(ox.clip_by_global_norm(1.0), ox.lion(rate))
            """
        },
        raises="ValueError",
        run="import jax.numpy as jnp\nfast(jnp.ones(2), jnp.ones(2))",
    ),
    Example(
        "a field of a trainer",
        """
        import optax
        from optax import chain as chained

        class Trainer:
            def __init__(self, rate):
                self.tx = optax.MultiSteps(chained(optax.scale_by_adam(), optax.add_decayed_weights(0.1)), 1)

            def step(self, grads, state):
                return self.tx.update(grads, state)  # bad
        """,
        raises="ValueError",
        run=(
            "import jax.numpy as jnp\ntrainer = Trainer(0.1)\ntrainer.step(jnp.ones(2), trainer.tx.init(jnp.ones(2)))"
        ),
    ),
)

GOOD = (
    Example(
        "the parameters are passed",
        """
        import optax

        tx = optax.adamw(1e-3)

        def step(params, state, grads):
            updates, state = tx.update(grads, state, params)
            return tx.update(updates, state, params=params)
        """,
        run="import jax.numpy as jnp\np = jnp.ones(2)\nstep(p, tx.init(p), p)",
    ),
    Example(
        "adam and sgd do without",
        """
        import optax

        def step(grads, params):
            tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
            plain = optax.sgd(0.1)
            return tx.update(grads, tx.init(params)), plain.update(grads, plain.init(params))
        """,
        run="import jax.numpy as jnp\nstep(jnp.ones(2), jnp.ones(2))",
    ),
    Example(
        "an optimizer from elsewhere",
        """
        import optax

        def step(tx, grads, state):
            return tx.update(grads, state)

        def spread(tx, *rest):
            tx = tx or optax.adamw(1e-3)
            return tx.update(*rest)
        """,
        run="import jax.numpy as jnp\ntx = optax.sgd(0.1)\nstep(tx, jnp.ones(2), tx.init(jnp.ones(2)))",
    ),
    Example(
        "other things that are updated",
        """
        import optax

        tx = optax.adamw(1e-3)

        def collect(metrics, found):
            metrics.update(found)
            table = {}
            table.update(found, loss=1.0)
            return metrics, table
        """,
        run="collect({}, {})",
    ),
)

RULE = SourceRule(
    code="SEM103",
    name="update-without-params",
    severity="info",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
