"""A model is evaluated in training mode.

## What it does
Reports calls of a model with `train=True`, `deterministic=False` and their like in a function that is named as an
evaluation, a prediction or an inference; calls there of a helper of the project whose mode is training unless told
otherwise; and `model.train()` of a flax nnx module.

## Why is this bad?
Dropout stays on and batch norm uses the batch it is given, so the numbers are noisy and too low, and differ with the
size of the batch. Nobody notices, for they look plausible (https://github.com/karpathy/nanoGPT/issues/240,
https://github.com/NVIDIA/Megatron-LM/issues/411).

## Example
    def eval_step(params, batch):
        return model.apply(params, batch["x"], train=True)

## Use instead
    def eval_step(params, batch):
        return model.apply(params, batch["x"], train=False)

## What stays clean
Modes that come in as an argument, functions that train as well by their name, Monte Carlo dropout (called so), data
loaders and other calls that run no model, tests.

## References
- https://flax.readthedocs.io/en/latest/guides/training_techniques/dropout.html
- https://docs.kidger.site/equinox/api/nn/inference/
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ....contracts.finding import Finding
from ..callee import Callee
from ..facts import FileFacts
from ..pattern import Pattern
from ..records import Call, Function
from ..rule import Example, SourceRule

_EVALUATES = Pattern(r"(^|_)(eval|evaluate|evaluation|validate|validation|predict|prediction|infer|inference)(_|$)")
_RUNS_NONE = Pattern(r"load|data|iter|pipeline|split|config|log|get|make|build|create|init|write|save")
_TRAINS_TOO = Pattern(r"train|fit|update|mc_|monte|bayes|dropout|uncertain|stochastic|init|calibrat", re.I)
_MODES = {
    "train": True, "training": True, "is_training": True, "is_train": True, "enable_dropout": True,
    "deterministic": False, "use_running_average": False, "inference": False,
}  # fmt: skip
_RUNS = frozenset({"apply", "apply_fn", "__call__", "forward", "call"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        if not _evaluates(function):
            continue
        for call in function.calls:
            why = _trains(facts, call)
            if why is not None:
                yield facts.finding(
                    RULE,
                    call.node,
                    f"{why} in {_name(function)}, which evaluates",
                    subject=f"{function.name}: {facts.text(call.node)}",
                    because=facts.why(function),
                    help="evaluate with dropout off and running statistics",
                )


def _name(function: Function) -> str:
    return next(each.name for each in function.chain() if _EVALUATES.search(each.name))


def _evaluates(function: Function) -> bool:
    """Whether a function, or one that it is defined in, says by its name that it evaluates, and none that it trains."""
    names = [each.name for each in function.chain() if not each.is_module]
    return any(map(_EVALUATES.search, names)) and not any(map(_TRAINS_TOO.search, names))


def _trains(facts: FileFacts, call: Call) -> str | None:
    """How a call runs a model in training mode."""
    if call.decorates is not None:
        return None
    callee = facts.callee(call)
    name = callee.name or ""
    if name == ".train" and not call.args and not call.keywords and _is_nnx(facts, call):
        return "`train()` is called"
    if not _runs_model(facts, callee) and not _is_handed_in(callee, call):
        return None
    for mode, trains in _MODES.items():
        given = call.keywords.get(mode)
        if given is not None:
            if given.op == "const" and given.data is trains:
                return f"{mode}={trains}"
            return None
    if callee.function is None or None in call.keywords:
        return None
    given = facts.arguments(call)
    for parameter in callee.function.parameters:
        trains = _MODES.get(parameter.name)
        default = parameter.default
        if trains is None or parameter.name in given or default is None or any(each.op == "star" for each in call.args):
            continue
        if default.op == "const" and default.data is trains and not _TRAINS_TOO.search(callee.function.name):
            return f"{callee.function.name}() has {parameter.name}={trains} unless told otherwise, and runs so"
    return None


def _runs_model(facts: FileFacts, callee: Callee) -> bool:
    """Whether a call runs a network: `apply` of flax, an instance that is called, a function that is traced."""
    name = (callee.name or "").rpartition(".")[2]
    if name in _RUNS or (callee.instance is not None and name == ""):
        return True
    return callee.function is not None and (bool(callee.wraps) or facts.program.traced(callee.function) is not None)


def _is_handed_in(callee: Callee, call: Call) -> bool:
    """Whether what is called is a parameter or a field of the object, and no loader by its name: a model, it seems."""
    func = call.func
    if callee.function is not None or callee.cls is not None or func.op not in ("param", "attr"):
        return False
    if func.op == "attr":
        return func.args[0].op == "param" and func.args[0].data.name == "self" and not _RUNS_NONE.search(func.data)
    return not _RUNS_NONE.search(func.data.name)


def _is_nnx(facts: FileFacts, call: Call) -> bool:
    """Whether the file is about flax nnx, whose modules have `train()` and `eval()`."""
    return call.func.op == "attr" and "nnx" in facts.source.text and "torch" not in facts.source.text


BAD = (
    Example(
        "train is true",
        """
        import jax
        from flax import linen as nn

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x, train):
                return nn.Dropout(0.5, deterministic=not train)(x)

        model = Net()

        @jax.jit
        def eval_step(params, x, key):
            return model.apply(params, x, train=True, rngs={"dropout": key})  # bad
        """,
        run=(
            "import jax.numpy as jnp\n"
            "a, b = (eval_step({}, jnp.ones(64), jax.random.key(i)) for i in (0, 1))\n"
            "assert (a != b).any()"
        ),
    ),
    Example(
        "a helper of another file whose mode is training",
        """
        from functools import partial
        import jax
        from model import forward

        def evaluate(params, batches, key):
            keys = jax.random.split(key, len(batches))
            return [forward(params, batch, each) for batch, each in zip(batches, keys)]  # bad
        """,
        files={
            "model.py": """
            import jax
            import jax.numpy as jnp

            @jax.jit
            def hidden(x):
                return jnp.tanh(x)

            @jax.jit
            def forward(params, x, key, training=True):
                keep = jax.random.bernoulli(key, 0.5, x.shape)
                return jnp.where(training, x * keep, x) @ params
            """
        },
        run=(
            "import jax.numpy as jnp\n"
            "outs = [evaluate(jnp.ones(64), [jnp.ones(64)], jax.random.key(i))[0] for i in (0, 1)]\n"
            "assert outs[0] < 64 and outs[1] < 64"
        ),
    ),
    Example(
        "by the state's apply_fn",
        """
        import jax
        from flax.training.train_state import TrainState

        @jax.jit
        def eval_step(state: TrainState, batch):
            return state.apply_fn({"params": state.params}, batch, deterministic=False)  # bad
        """,
    ),
    Example(
        "nnx, and a nested function",
        """
        from flax import nnx
        import jax

        def validate(model, batches):
            model.train()  # bad

            def predict(batch):
                return model(batch, deterministic=False)  # bad

            return [predict(batch) for batch in batches]
        """,
    ),
)

GOOD = (
    Example(
        "evaluation mode",
        """
        import jax
        from flax import linen as nn

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x, train: bool):
                return nn.Dropout(0.5, deterministic=not train)(x)

        model = Net()

        @jax.jit
        def eval_step(params, x):
            return model.apply(params, x, train=False)

        def evaluate(params, x, train):
            return model.apply(params, x, train=train)
        """,
        run="import jax.numpy as jnp\neval_step({}, jnp.ones(2))",
    ),
    Example(
        "training, and Monte Carlo dropout",
        """
        import jax

        def train_step(model, params, x):
            return model.apply(params, x, train=True)

        def train_and_evaluate(model, params, x):
            return model.apply(params, x, train=True), model.apply(params, x, train=False)

        def predict_mc_dropout(model, params, x, keys):
            return [model.apply(params, x, deterministic=False, rngs={"dropout": key}) for key in keys]
        """,
    ),
    Example(
        "data and helpers that are told",
        """
        import jax
        import jax.numpy as jnp

        def load(path, train=True):
            return path, train

        @jax.jit
        def forward(params, x, training=True):
            return jnp.where(training, x * 0.5, x) @ params

        def evaluate(params, x, get_data):
            data = load("here", train=True), get_data(train=True)
            return forward(params, x, training=False), forward(params, x, False), data, load("there")
        """,
        run="evaluate(jnp.ones(2), jnp.ones(2), lambda train: 0)",
    ),
    Example(
        "nnx in evaluation mode",
        """
        from flax import nnx
        import jax

        def evaluate(model, batches):
            model.eval()
            found = [model(batch) for batch in batches]
            return found

        def fit(model, batches):
            model.train()
            return [model(batch, deterministic=False) for batch in batches]
        """,
    ),
)

RULE = SourceRule(
    code="SEM106",
    name="train-mode-in-eval",
    severity="info",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
