"""Means over masked tokens are averaged again, over devices or microbatches that hold different numbers of them.

## What it does
Reports `lax.pmean` of a loss, of its gradients or of metrics that were divided by the sum of a mask, and the division
by the number of microbatches of such losses or gradients that a loop or `lax.scan` added up.

## Why is this bad?
A mean of means gives every device and microbatch the same weight, however few tokens it holds. A token on a shard that
is nearly all padding then counts many times as much as others: the loss and the gradient are not those of the batch,
and change with the number of devices. Nothing fails; several trainers had it for years
(https://github.com/huggingface/transformers/pull/19494, https://github.com/huggingface/transformers/pull/34191,
https://github.com/PrimeIntellect-ai/prime-rl/pull/1960).

## Example
    loss = jnp.sum(token_loss * mask) / jnp.maximum(jnp.sum(mask), 1)
    loss = jax.lax.pmean(loss, "data")

## Use instead
    total, count = jax.lax.psum((jnp.sum(token_loss * mask), jnp.sum(mask)), "data")
    loss = total / jnp.maximum(count, 1)

For gradients, differentiate the sum, add up sums and counts, and divide once.

## What stays clean
Sums and counts that are reduced separately, counts that were added up over the devices before the division, plain means
over equal shards, auxiliary losses that are no masked means.

## References
- https://huggingface.co/blog/gradient_accumulation
- https://github.com/pytorch/torchtune/pull/1875
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..callee import Signature
from ..facts import FileFacts
from ..formulas import applied, followed, inside
from ..gradients import objective
from ..masks import is_masked_mean, ratios
from ..records import Call, Function, Record
from ..rule import Example, SourceRule
from ..values.value import Value

_MAPS = ("jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map")
_LOOPS = {"jax.lax.scan": 0, "jax.lax.fori_loop": 2}
_SIZES = frozenset({"const", "param", "attr", "name"})


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.functions:
        for call in function.calls:
            averaged = _averaged(facts, call)
            if averaged is not None and _is_mean(facts, averaged):
                yield _finding(facts, call, "over devices")
        for record, over, under in (*ratios(facts, function), *_mapped_ratios(facts, function)):
            if (under.op in _SIZES or facts.kind(under) == "static") and _gathers_means(facts, over):
                yield _finding(facts, record, "over microbatches")


def _finding(facts: FileFacts, record: Record, over: str) -> Finding:
    return facts.finding(
        RULE,
        record.node,
        f"a mean {over} of means over masked tokens: shards with few tokens weigh as much as full ones",
        subject=f"{record.function.name}: {facts.text(record.node)}",
        because=facts.why(record.function),
        help="add up sums and counts separately, and divide once",
    )


def _averaged(facts: FileFacts, call: Call) -> Value | None:
    """What a pmean takes the mean of, under a tree map as well."""
    callee = facts.callee(call)
    if callee.wraps:
        return None
    if callee.name == "jax.lax.pmean":
        return [*callee.bound, *call.args][0] if callee.bound or call.args else None
    if callee.name in _MAPS and len(call.args) == 2:
        inner = facts.callee(call.args[0])
        if inner.name == "jax.lax.pmean":
            return call.args[1]
        for each in _returns(facts, inner.function):
            if each.op == "call" and facts.callee(each.data).name == "jax.lax.pmean":
                return call.args[1]
    return None


def _returns(facts: FileFacts, function: Signature | None) -> list[Value]:
    """What a function of this file returns."""
    found = next((each for each in facts.functions if function is not None and each.id == function.id), None)
    return [each.value for each in found.returns if each.kind != "end"] if found is not None else []


def _is_mean(facts: FileFacts, value: Value, depth: int = 5) -> bool:
    """Whether a value, or one of those that it holds, is a masked mean or a gradient of one."""
    if depth == 0:
        return False
    if value.op in ("tuple", "list", "dict"):
        return any(_is_mean(facts, each, depth - 1) for each in value.args[:16])
    if value.op in ("phi", "updated"):
        return any(_is_mean(facts, each, depth - 1) for each in value.args)
    if is_masked_mean(facts, value):
        return True
    root, path = value, []
    while root.op == "item" and root.args[1].op == "const":
        path.insert(0, root.args[1].data)
        root = root.args[0]
    loss = objective(facts, root)
    if loss is not None:
        # The gradient, the loss, or the loss beside what comes with it.
        return path in ([], [0], [1], [0, 0]) and is_masked_mean(facts, loss)
    known = followed(facts, value)
    return known is not value and _is_mean(facts, known, depth - 1)


def _mapped_ratios(facts: FileFacts, function: Function) -> Iterator[tuple[Record, Value, Value]]:
    """`jax.tree.map(lambda g: g / n, grads)`: the call, the tree, what each leaf is divided by."""
    for call in function.calls:
        callee = facts.callee(call)
        if callee.name in _MAPS and not callee.wraps and len(call.args) == 2:
            for each in _returns(facts, facts.callee(call.args[0]).function):
                made = applied(facts, each)
                if made is not None and made.name in ("divide", "true_divide") and made.args[0].op == "param":
                    yield call, call.args[1], made.args[1]


def _gathers_means(facts: FileFacts, value: Value) -> bool:
    """Whether a value is the sum of masked means, or of their gradients, over the rounds of a loop."""
    if value.op == "loop":
        return _adds_mean(facts, value.args[1], value)
    if value.op == "phi":  # what a loop leaves, where it may not have had a round
        carried = [part for each in value.args for part in inside(facts, each) if part.op == "loop"]
        return any(_adds_mean(facts, each, carry) for each in value.args for carry in carried[:4])
    path: list[int] = []
    root = value
    while root.op == "item" and root.args[1].op == "const" and type(root.args[1].data) is int:
        path.insert(0, root.args[1].data)
        root = root.args[0]
    if root.op != "call":
        return False
    name = facts.callee(root.data).name or ""
    if name not in _LOOPS:
        return False
    at = _LOOPS[name]
    if name == "jax.lax.scan":
        if path[:1] != [0]:
            return False
        path = path[1:]
    if len(root.data.args) <= at:
        return False
    for made in _returns(facts, facts.callee(root.data.args[at]).function):
        out = made.args[0] if name == "jax.lax.scan" and made.op == "tuple" and made.args else made
        for index in path:
            if out.op not in ("tuple", "list") or index >= len(out.args):
                break
            out = out.args[index]
        else:
            if _adds_mean(facts, out, None):
                return True
    return False


def _adds_mean(facts: FileFacts, after: Value, carried: Value | None) -> bool:
    """Whether what comes out of a round is what came in plus a masked mean: by `+`, or by a tree map of additions."""
    if after.op == "bin" and after.data == "Add":
        parts = list(after.args)
    elif after.op == "call" and facts.callee(after.data).name in _MAPS and len(after.data.args) == 3:
        parts = list(after.data.args[1:]) if _is_addition(facts, after.data.args[0]) else []
    else:
        return False
    kept = [each for each in parts if each is carried or (carried is None and _is_carry(each))]
    return bool(kept) and any(_is_mean(facts, each) for each in parts if each not in kept)


def _is_carry(value: Value) -> bool:
    while value.op == "item":
        value = value.args[0]
    return value.op == "param"


def _is_addition(facts: FileFacts, value: Value) -> bool:
    callee = facts.callee(value)
    if callee.name in ("jax.numpy.add", "operator.add", "jax.lax.add"):
        return True
    return any(each.op == "bin" and each.data == "Add" for each in _returns(facts, callee.function))


BAD = (
    Example(
        "the gradient of a masked mean",
        """
        import jax
        import jax.numpy as jnp

        def loss_fn(weights, batch):
            errors = (batch["x"] @ weights - batch["y"]) ** 2
            return jnp.sum(errors * batch["mask"]) / jnp.maximum(jnp.sum(batch["mask"]), 1.0)

        def train_step(weights, batch):
            loss, grads = jax.value_and_grad(loss_fn)(weights, batch)
            grads = jax.lax.pmean(grads, axis_name="data")  # bad
            loss = jax.lax.pmean(loss, axis_name="data")  # bad
            return weights - 0.1 * grads, loss
        """,
        run=(
            "batch = {'x': jnp.ones((2, 2, 1)), 'y': jnp.array([[0.0, 0.0], [3.0, 3.0]]),\n"
            "         'mask': jnp.array([[1.0, 1.0], [1.0, 0.0]])}\n"
            "apart = jax.vmap(train_step, in_axes=(None, 0), axis_name='data')(jnp.ones(1), batch)[1][0]\n"
            "whole = loss_fn(jnp.ones(1), {k: v.reshape((4, *v.shape[2:])) for k, v in batch.items()})\n"
            "assert abs(apart - 2.5) < 1e-6 and abs(whole - 2.0) < 1e-6"
        ),
    ),
    Example(
        "metrics of a helper in another file, through a tree map and an alias",
        """
        import jax
        from functools import partial
        from jax import lax
        from metrics import scored

        average = partial(lax.pmean, axis_name="devices")

        def eval_step(logits, batch):
            found = scored(logits, batch["labels"])
            found = jax.tree.map(lambda v: lax.pmean(v, "devices"), found)  # bad
            return average(scored(logits, batch["labels"])), found  # bad
        """,
        files={
            "metrics.py": """
            import jax.numpy as jnp

            def scored(logits, labels):
                keep = labels != -1
                hits = (logits.argmax(-1) == labels) * keep
                return {"accuracy": hits.sum() / jnp.maximum(keep.sum(), 1)}
            """
        },
        run=(
            "import jax.numpy as jnp\n"
            "step = jax.vmap(eval_step, axis_name='devices')\n"
            "labels = jnp.array([[0, 0, 0], [1, -1, -1]])\n"
            "assert step(jnp.ones((2, 3, 2)), {'labels': labels})[0]['accuracy'][0] == 0.5"
        ),
    ),
    Example(
        "microbatches of a scan and of a loop",
        """
        import jax
        import jax.numpy as jnp

        def loss_fn(weights, batch):
            errors = (batch["x"] @ weights) ** 2
            return jnp.sum(errors * batch["mask"]) / (jnp.sum(batch["mask"]) + 1e-9)

        def accumulated(weights, batches, count):
            def body(carry, batch):
                loss, grads = jax.value_and_grad(loss_fn)(weights, batch)
                return (carry[0] + loss, jax.tree.map(jnp.add, carry[1], grads)), None

            (loss, grads), _ = jax.lax.scan(body, (0.0, jnp.zeros_like(weights)), batches)
            grads = jax.tree.map(lambda g: g / count, grads)  # bad
            return loss / count, grads  # bad

        def looped(weights, batches):
            total = jnp.zeros(())
            for batch in batches:
                total = total + loss_fn(weights, batch)
            return total / len(batches)  # bad
        """,
        run=(
            "batches = {'x': jnp.arange(4.0).reshape(2, 2, 1), 'mask': jnp.array([[True, True], [True, False]])}\n"
            "whole = loss_fn(jnp.ones(1), {k: v.reshape((4, *v.shape[2:])) for k, v in batches.items()})\n"
            "assert abs(accumulated(jnp.ones(1), batches, 2)[0] - whole) > 0.5"
        ),
    ),
)

GOOD = (
    Example(
        "sums and counts apart",
        """
        import jax
        import jax.numpy as jnp

        def sums(weights, batch):
            errors = (batch["x"] @ weights - batch["y"]) ** 2
            return jnp.sum(errors * batch["mask"]), jnp.sum(batch["mask"])

        def train_step(weights, batch):
            (total, count), grads = jax.value_and_grad(sums, has_aux=True)(weights, batch)
            total, count, grads = jax.lax.psum((total, count, grads), axis_name="data")
            return weights - 0.1 * grads / jnp.maximum(count, 1), total / jnp.maximum(count, 1)
        """,
        run=(
            "batch = {'x': jnp.ones((2, 2, 1)), 'y': jnp.ones((2, 2)), 'mask': jnp.ones((2, 2))}\n"
            "jax.vmap(train_step, in_axes=(None, 0), axis_name='data')(jnp.ones(1), batch)"
        ),
    ),
    Example(
        "plain means of equal shards",
        """
        import jax
        import jax.numpy as jnp

        def image_step(weights, images, labels):
            loss, grads = jax.value_and_grad(lambda w: jnp.mean((images @ w - labels) ** 2))(weights)
            return jax.lax.pmean(loss, "batch"), jax.lax.pmean(grads, "batch")

        def folded(weights, batches, count):
            def body(carry, batch):
                return carry + jnp.mean((batch @ weights) ** 2), None

            return jax.lax.scan(body, 0.0, batches)[0] / count
        """,
        run="folded(jnp.ones(1), jnp.ones((2, 2, 1)), 2)",
    ),
    Example(
        "the count of all devices",
        """
        import jax
        import jax.numpy as jnp

        def loss_fn(weights, batch):
            errors = (batch["x"] @ weights - batch["y"]) ** 2
            count = jax.lax.psum(jnp.sum(batch["mask"]), "data")
            return jnp.sum(errors * batch["mask"]) / jnp.maximum(count, 1)

        def train_step(weights, batch):
            loss, grads = jax.value_and_grad(loss_fn)(weights, batch)
            return jax.lax.psum(loss, "data"), jax.lax.pmean(grads, "data")
        """,
    ),
    Example(
        "counts are gathered as well, auxiliary losses are plain",
        """
        import jax
        import jax.numpy as jnp

        def sums(weights, batch):
            return jnp.sum((batch["x"] @ weights) ** 2 * batch["mask"]), jnp.sum(batch["mask"])

        def accumulated(weights, batches, balance, count):
            def body(carry, batch):
                total, kept = sums(weights, batch)
                return (carry[0] + total, carry[1] + kept), None

            (total, kept), _ = jax.lax.scan(body, (0.0, 0.0), batches)
            return total / jnp.maximum(kept, 1) + balance / count
        """,
        run=(
            "batches = {'x': jnp.ones((2, 2, 1)), 'mask': jnp.ones((2, 2))}\naccumulated(jnp.ones(1), batches, 1.0, 2)"
        ),
    ),
)

RULE = SourceRule(
    code="SEM102",
    name="mean-of-means",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
