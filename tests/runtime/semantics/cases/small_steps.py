"""Steps of a few lines, each right or with one fault; the numbers come from `data`, a mapping of arrays.

`build(case, fault, microbatches, **more)`: what a project's own build function would be.
"""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np


def _split(tree, count):
    """[B, ...] -> [N, B / N, ...]: every N-th row."""
    return jax.tree.map(lambda x: x.reshape(x.shape[0] // count, count, *x.shape[1:]).swapaxes(0, 1), tree)


def _step(params, batch, loss_and_grads, loss_terms, rate=0.1):
    """Plain gradient descent on {"w": ...}, counting its steps."""

    def train_step(state, batch):
        loss, grads = loss_and_grads(state, batch)
        new = jax.tree.map(lambda p, g: p - rate * g, state["params"], grads)
        return {"params": new, "step": state["step"] + 1}, {"loss": loss}

    state = {"params": params, "step": np.zeros((), np.int32)}
    return SimpleNamespace(
        fn=train_step,
        args=(state, batch),
        donate=("state",),
        example=lambda index: ((state, batch), {}),
        loss_and_grads=loss_and_grads,
        loss_terms=loss_terms,
    )


def _accumulated(term, params, batch, count, zero=None):
    """Sum over microbatches of (value, gradient) of `term(params, rows, index)`."""

    def body(total, given):
        value, grads = jax.value_and_grad(term)(params, *given)
        grads = jax.tree.map(lambda t, g: t + g.astype(t.dtype), total[1], grads)
        return (total[0] + value, grads), None

    start = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params) if zero is None else zero)
    return jax.lax.scan(body, start, (_split(batch, count), jnp.arange(count)))[0]


def regression(data, fault, microbatches):
    """Softmax regression; `fault`: each microbatch is divided by its own count."""
    batch = {"x": data["x"], "y": data["y"].astype(np.int32), "mask": data["mask"]}

    def summed(params, rows):
        logits = rows["x"] @ params["w"]
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), rows["y"][..., None], axis=-1)[..., 0]
        return -jnp.sum(picked * rows["mask"])

    def loss_and_grads(state, batch):
        tokens = jnp.sum(batch["mask"])

        def term(params, rows, index):
            own = jnp.sum(rows["mask"]) * microbatches
            return summed(params, rows) / (own if fault else tokens)

        return _accumulated(term, state["params"], batch, microbatches)

    def loss_terms(state, batch):
        return {"xent": (summed(state["params"], batch), jnp.sum(batch["mask"]))}

    return _step({"w": data["w"]}, batch, loss_and_grads, loss_terms)


def balanced(data, fault, microbatches):
    """A sum over tokens and a mean over microbatches; `fault`: with several, one accumulator is divided by tokens."""
    rows, width = data["gx"].shape[0], int(data["tokens"]) // data["gx"].shape[0]
    batch = {"gx": data["gx"], "ga": data["ga"] / 0.01, "mask": np.ones((rows, width))}

    def main(params, rows):
        return jnp.sum(jnp.mean(rows["mask"], axis=1) * (rows["gx"] @ params["w"]))

    def balance(params, rows):
        return jnp.mean(rows["ga"] @ params["w"])

    def loss_and_grads(state, batch):
        tokens, params = jnp.sum(batch["mask"]), state["params"]
        wrong = fault and microbatches > 1
        first, grads = _accumulated(lambda p, r, i: main(p, r) / tokens, params, batch, microbatches)
        divisor = tokens if wrong else microbatches
        second, more = _accumulated(lambda p, r, i: 0.01 * balance(p, r) / divisor, params, batch, microbatches)
        reported = second * tokens / microbatches if wrong else second
        return first + reported, jax.tree.map(jnp.add, grads, more)

    def loss_terms(state, batch):
        params = state["params"]
        return {"xent": (main(params, batch), jnp.sum(batch["mask"])), "moe_lb": (balance(params, batch), 1.0)}

    return _step({"w": np.linspace(1.0, 2.0, data["gx"].shape[1])}, batch, loss_and_grads, loss_terms)


def dropped(data, fault, microbatches, rate=0.1):
    """Dropout on the inputs; `fault`: all microbatches use the step's key."""
    batch = {"x": data["x"], "mask": np.ones(data["x"].shape[0])}

    def loss_and_grads(state, batch):
        key = jax.random.fold_in(jax.random.key(0), state["step"])
        counted = jnp.sum(batch["mask"])

        def term(params, rows, index):
            own = key if fault else jax.random.fold_in(key, index)
            keep = jax.random.bernoulli(own, 1 - rate, rows["x"].shape) if rate else 1.0
            return jnp.sum(jnp.square(rows["x"] * keep * params["w"]).mean(axis=1) * rows["mask"]) / counted

        return _accumulated(term, state["params"], batch, microbatches)

    def loss_terms(state, batch):
        squares = jnp.square(batch["x"] * state["params"]["w"]).mean(axis=1)
        return {"square": (jnp.sum(squares * batch["mask"]), jnp.sum(batch["mask"]))}

    return _step({"w": np.linspace(0.5, 1.5, data["x"].shape[1])}, batch, loss_and_grads, loss_terms)


def padded(data, fault, microbatches):
    """Losses with padding behind them; `fault`: padding is in the denominator."""
    batch = {"losses": data["losses"], "mask": data["mask"]}

    def tokens(batch):
        return jnp.asarray(float(batch["mask"].size)) if fault else jnp.sum(batch["mask"])

    def summed(params, rows):
        return params["w"] * jnp.sum(rows["losses"] * rows["mask"])

    def loss_and_grads(state, batch):
        divisor = tokens(batch)
        return _accumulated(lambda p, r, i: summed(p, r) / divisor, state["params"], batch, microbatches)

    def loss_terms(state, batch):
        return {"xent": (summed(state["params"], batch), tokens(batch))}

    return _step({"w": np.ones(())}, batch, loss_and_grads, loss_terms)


def narrow(data, fault, microbatches):
    """Small gradients, added up; `fault`: in bfloat16."""
    batch = {"g": data["g"].astype(np.float32)}
    accumulator = jnp.bfloat16 if fault else jnp.float32

    def summed(params, rows):
        return params["w"] * jnp.sum(rows["g"])

    def loss_and_grads(state, batch):
        zero = {"w": jnp.zeros((), accumulator)}
        return _accumulated(lambda p, r, i: summed(p, r), state["params"], batch, microbatches, zero)

    def loss_terms(state, batch):
        return {"sum": (summed(state["params"], batch), 1.0)}

    return _step({"w": np.ones((), np.float32)}, batch, loss_and_grads, loss_terms)


def configured(data, fault, microbatches, config):
    """A step of a configuration; the dense path reads no mixture of experts."""
    layers, width = config["model"]["layers"], config["model"]["embed"]
    rate = config.get("optimizer", {}).get("learning_rate", 1e-3)
    epochs = config["training"].get("num_epochs", 1)
    batch = {"x": np.ones((4, width)), "mask": np.ones(4)}

    def summed(params, batch):
        return epochs * jnp.sum(jnp.square(batch["x"] @ params["w"].sum(axis=0)) * batch["mask"])

    def loss_and_grads(state, batch):
        return jax.value_and_grad(lambda p: summed(p, batch) / jnp.sum(batch["mask"]))(state["params"])

    def loss_terms(state, batch):
        return {"square": (summed(state["params"], batch), jnp.sum(batch["mask"]))}

    return _step({"w": np.ones((layers, width))}, batch, loss_and_grads, loss_terms, rate)


def _of_classes(params, rows):
    """The sum of cross entropies over labels that are not negative, and their number."""
    counts = rows["labels"] >= 0
    picked = jnp.where(counts, rows["labels"], 0)[..., None]
    logs = jax.nn.log_softmax(rows["x"] @ params["w"])
    return -jnp.sum(jnp.take_along_axis(logs, picked, axis=-1)[..., 0] * counts), jnp.sum(counts)


def labelled(data, fault, microbatches):
    """No mask: a label of -100 is not counted; `fault`: each microbatch is divided by its own count."""
    batch = {"x": data["x"], "labels": data["labels"].astype(np.int32)}

    def loss_and_grads(state, batch):
        whole = _of_classes(state["params"], batch)[1]

        def term(params, rows, index):
            total, own = _of_classes(params, rows)
            return total / (own * microbatches if fault else whole)

        return _accumulated(term, state["params"], batch, microbatches)

    def loss_terms(state, batch):
        return {"xent": _of_classes(state["params"], batch)}

    return _step({"w": data["w"]}, batch, loss_and_grads, loss_terms)


def routed(data, fault, microbatches):
    """A router's balance beside the loss; `fault`: the pass that step and terms share stops its gradient."""
    batch = {"x": data["x"], "labels": data["labels"].astype(np.int32)}

    def balance(params, rows):
        shares = jax.nn.softmax(rows["x"] @ params["w"]).mean(axis=(0, 1))
        return jnp.sum(jnp.square(jax.lax.stop_gradient(shares) if fault else shares))

    def loss_and_grads(state, batch):
        whole = _of_classes(state["params"], batch)[1]

        def term(params, rows, index):
            return _of_classes(params, rows)[0] / whole + 0.01 * balance(params, rows) / microbatches

        return _accumulated(term, state["params"], batch, microbatches)

    def loss_terms(state, batch):
        return {"xent": _of_classes(state["params"], batch), "balance": (balance(state["params"], batch), 1.0)}

    return _step({"w": data["w"]}, batch, loss_and_grads, loss_terms)


CASES = {
    "labels": labelled,
    "router": routed,
    "15": configured,
    "01": regression,
    "02": balanced,
    "03": dropped,
    "08": padded,
    "14": narrow,
}


def build(case, fault, data, microbatches=1, **more):
    with np.load(data, allow_pickle=False) as arrays:
        return CASES[case](dict(arrays), fault, microbatches, **more)
