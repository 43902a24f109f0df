"""A loop on the host reads the result of a compiled function in every round, and waits for it.

## What it does
Reports reads of what a compiled function gave in the same round of a loop: `float`, `int`, `.item()`, `numpy.asarray`
and other numpy functions, `jax.device_get`, `jax.block_until_ready`, `print`, f-strings, progress bars, conditions;
also where a helper function does the reading, and where the loop stands in a caller of this file.

## Why is this bad?
A compiled function returns at once and runs behind; the host goes on and queues the next one. Whoever reads a result
waits until it is there: the device then idles while the host prepares the next round, each time
(https://github.com/AI-Hypercomputer/maxtext/issues/1956, https://github.com/poets-ai/elegy/issues/141: an accelerator
that was busy for 99 % of the time was so for less than 85 %).

## Example
    for batch in batches:
        params, loss = train_step(params, batch)
        history.append(loss.item())

## Use instead
    for step, batch in enumerate(batches):
        params, loss = train_step(params, batch)
        history.append(loss)
        if step % 100 == 0:
            print(float(loss))
    history = jax.device_get(history)

## What stays clean
Reads under a condition (`if step % 100 == 0`), those of a loop that stands under one, after the loop, of an earlier
round (the queue stays filled), of host values; results that the next round needs on the host (an environment's action,
a test that ends the loop, a result that is handed on), and whatever else is read of the same call; what a hook does
that the caller may pass; waits that are timed, loops that sleep; loops over a few constants; tests and benchmarks.

## References
- https://docs.jax.dev/en/latest/async_dispatch.html
- https://docs.jax.dev/en/latest/transfer_guard.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..records import Branch, Call, Function, Loop
from ..round_reads import MEASURES, calling, reads, shared
from ..rounds import carries, holds, needed, now_and_then, sources
from ..rule import Example, SourceRule
from ..syncs import unconditional

_CLOCKS = frozenset(
    {
        "time.time",
        "time.perf_counter",
        "time.monotonic",
        "time.process_time",
        "time.perf_counter_ns",
        "timeit.default_timer",
    }
)


def check(facts: FileFacts) -> Iterable[Finding]:
    if MEASURES.search(facts.path.rpartition("/")[2]):
        return
    for function in facts.host_functions():
        if MEASURES.search(function.name):
            continue
        if any(facts.callee(call).jit or facts.kind(call.result) == "device" for call in function.calls):
            yield from _function(facts, function)


def _function(facts: FileFacts, function: Function) -> Iterator[Finding]:
    needs: dict[int, set[int]] = {}
    told: set[object] = set()
    around: list[Loop | None] = []
    found: list[tuple[Call, Finding]] = []
    waited: set[int] = set()  # calls that the host has to wait for in each round: what else it reads of them is free
    for at, sync, record in reads(facts, function):
        for value in sync.values:
            made = next(sources(facts, value, set()), None)
            if made is None or at in told:
                continue
            source, straight = made
            loop = shared(facts, source, record)
            where = "in every round of this loop"
            if loop is None:
                if not around:
                    around.append(calling(facts, function))
                loop = around[0]
                if loop is None or not unconditional(record.block) or source.block.loop is not None:
                    continue
                where, straight = f"in every round of the loop on {facts.line(loop.node)}", False
            elif not unconditional(record.block, loop) or now_and_then(loop) or _rests(facts, function, loop):
                continue
            else:
                if id(loop) not in needs:
                    needs[id(loop)] = needed(facts, function, loop)
                needs_it = id(record) in needs[id(loop)] or id(getattr(record, "result", None)) in needs[id(loop)]
                if needs_it or (sync.kind in ("copy", "wait") and _handed_on(record)):
                    waited.add(id(source))
                    continue
                if sync.kind in ("copy", "wait") and not carries(source, loop):
                    continue
                if sync.kind == "text" and source.statement is record.statement and not carries(source, loop):
                    continue  # a loop that is there to show results
                if sync.kind == "wait" and _timed(facts, function, loop):
                    continue
            told.add(at)
            finding = facts.finding(
                RULE,
                record.node if isinstance(record, Call) else getattr(record.node, "test", record.node),
                f"{sync.how} waits for the result of {_called(facts, source)} {where}",
                subject=f"{function.name}: {sync.how} of {_called(facts, source)}",
                help="keep the results as they are and read them every so many steps, or after the loop",
                confidence="certain" if straight and sync.kind in ("number", "wait") else "likely",
            )
            found.append((source, finding))
    yield from (finding for source, finding in found if id(source) not in waited)


def _handed_on(record: Call | Branch) -> bool:
    """Whether a copy on the host is what a generator yields, or what others find on the object."""
    if not isinstance(record, Call):
        return False
    given = [each.value for each in record.function.returns if each.kind == "yield"]
    given += [each.value for each in record.function.stores if each.kind == "attribute"]
    return any(holds(each, record.result) for each in given)


def _rests(facts: FileFacts, function: Function, loop: Loop) -> bool:
    """Whether each round of a loop sleeps: it is not to be fast."""
    return any(facts.callee(call).name == "time.sleep" and loop in list(call.block.loops()) for call in function.calls)


def _timed(facts: FileFacts, function: Function, loop: Loop) -> bool:
    """Whether a clock is read in the loop."""
    return any(facts.callee(call).name in _CLOCKS and loop in list(call.block.loops()) for call in function.calls)


def _called(facts: FileFacts, source: Call) -> str:
    func = getattr(source.node, "func", None)
    return f"{facts.text(func)}()" if func is not None else "a compiled function"


BAD = (
    Example(
        "numbers of every step",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def train_step(params, batch):
            loss, grads = jax.value_and_grad(lambda p: jnp.sum((batch @ p) ** 2))(params)
            return params - 0.01 * grads, loss

        def fit(params, batches):
            history = []
            for step, batch in enumerate(batches):
                if step > 1000:
                    break
                params, loss = train_step(params, batch)
                history.append(float(loss))  # bad
            return params, history
        """,
        run="fit(jnp.ones(2), [jnp.ones((2, 2))] * 3)",
    ),
    Example(
        "a helper of another file reads them, a formatted text does",
        """
        import jax
        import jax.numpy as jnp
        from report import write

        def _step(state, batch):
            return state + batch.mean(), {"loss": batch.sum(), "norm": jnp.abs(state)}

        class Trainer:
            def __init__(self, state):
                self.state = state
                self.step = jax.jit(_step, donate_argnums=0)

            def train(self, loader):
                for number, batch in enumerate(loader):
                    self.state, metrics = self.step(self.state, batch)
                    write(number, metrics)  # bad
                    print("loss %.3f" % metrics["loss"])  # bad
                    line = ", ".join(f"{name}={value:.2f}" for name, value in metrics.items())  # bad
                return line
        """,
        files={
            "report.py": """
            def write(number, values):
                show(number, values)

            def show(number, values):
                print(number, {name: value.item() for name, value in values.items()})
            """
        },
        run="Trainer(jnp.zeros(())).train([jnp.ones(2)] * 3)",
    ),
    Example(
        "waits and copies, through a partial and an alias",
        """
        from functools import partial
        import jax as j
        import jax.numpy as jnp
        import numpy as np

        def update(scale, state, batch):
            return j.tree.map(lambda s: s + scale * batch.sum(), state), batch.mean()

        fast = j.jit(partial(update, 0.5))

        def run(state, batches, sink):
            while batches:
                state, loss = fast(state, batches.pop())
                j.block_until_ready(state)  # bad
                sink.append(np.asarray(state["w"]))  # bad
                sink.append(j.device_get(loss))  # bad
                if loss > 3:  # bad
                    sink.clear()
            return state
        """,
        run="run({'w': jnp.ones(2)}, [jnp.ones(2)] * 3, [])",
    ),
    Example(
        "the loop stands in the caller",
        """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def compiled(state, batch):
            return state + batch, jnp.mean(batch)

        def one_step(state, batch):
            state, loss = compiled(state, batch)
            return state, loss.item()  # bad

        def train(state, batches):
            total = 0.0
            for batch in batches:
                state, loss = one_step(state, batch)
                total += loss
            return state, total
        """,
        run="train(jnp.ones(2), [jnp.ones(2)] * 3)",
    ),
)

GOOD = (
    Example(
        "every so many steps, and after the loop",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def train_step(params, batch):
            return params - 0.01 * batch, jnp.sum(batch)

        def train(params, batches, log_every=10):
            losses = []
            for step, batch in enumerate(batches):
                params, loss = train_step(params, batch)
                losses.append(loss)
                if step % log_every == 0:
                    print(f"step {step} loss {float(loss):.3f}")
                if step < 3:
                    jax.block_until_ready(loss)
                if (step + 1) % log_every:
                    continue
                print(np.asarray(loss))
            return params, float(loss), np.mean(jax.device_get(losses))
        """,
        run="train(jnp.ones(2), [jnp.ones(2)] * 3)",
    ),
    Example(
        "host values, shapes, and a queue that is kept short",
        """
        from collections import deque
        import jax
        import jax.numpy as jnp
        import numpy as np

        @jax.jit
        def step(state, batch):
            return state + batch, jnp.mean(batch)

        def train(state, batches):
            queue = deque()
            previous = None
            for batch in batches:
                size = float(np.mean(batch))
                before = previous
                state, loss = step(state, batch)
                print(size, loss.shape, state.dtype, len(queue))
                if before is not None:
                    print(float(before))
                previous = loss
                queue.append(loss)
                if len(queue) > 2:
                    queue.popleft().block_until_ready()
            return state
        """,
        run="train(jnp.ones(2), [np.ones(2)] * 3)",
    ),
    Example(
        "the next round needs it on the host",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np

        policy = jax.jit(lambda params, seen: jnp.argmax(params @ seen))
        solve = jax.jit(lambda x: (x * 0.5, jnp.abs(x).max()))

        def play(params, world):
            seen = world.reset()
            while not world.done:
                action = policy(params, seen)
                seen = world.step(np.asarray(action))
            return seen

        def until_small(x):
            for _ in range(1000):
                x, error = solve(x)
                if float(error) < 1e-3:
                    break
            return x
        """,
        run="until_small(jnp.ones(2))",
    ),
    Example(
        "timed runs, once for each epoch, and a few constants",
        """
        import time
        import jax
        import jax.numpy as jnp

        step = jax.jit(lambda s, b: (s + b, b.mean()))

        def measure(x, repeats):
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                x, _ = step(x, x)
                jax.block_until_ready(x)
                times.append(time.perf_counter() - start)
            return times

        def epochs(state, data, count):
            for epoch in range(count):
                for batch in data:
                    state, loss = step(state, batch)
                print(epoch, float(loss))
            for scale in (1.0, 2.0):
                print(scale, float(step(state, scale)[1]))
            for each in data:
                print(step(state, each))
            return state
        """,
        run="measure(jnp.ones(2), 2)\nepochs(jnp.ones(2), [jnp.ones(2)], 3)",
    ),
    Example(
        "an evaluation every so many steps, a hook of the caller, and a loop that is there to be watched",
        """
        import time
        import jax
        import jax.numpy as jnp

        step = jax.jit(lambda s, b: (s + b, b.mean()))
        evaluate = jax.jit(lambda s, b: jnp.abs(s - b).max())

        def train(state, batches, held_out, every=100):
            for number, batch in enumerate(batches):
                state, _ = step(state, batch)
                if number % every == 0:
                    for name, split in held_out.items():
                        print(name, float(evaluate(state, split)))
            return state

        def hooked(state, batches, on_metrics=None):
            for batch in batches:
                state, loss = step(state, batch)
                if on_metrics is not None:
                    on_metrics(loss)
            return state

        def show(loss):
            print(float(loss))

        def debug(state, batches):
            return hooked(state, batches, show)

        def watch(state, rounds):
            for _ in range(rounds):
                time.sleep(0.001)
                state, loss = step(state, state)
                print(float(loss))
        """,
        run="watch(train(jnp.ones(2), [jnp.ones(2)] * 3, {'test': jnp.ones(2)}), 2)",
    ),
    Example(
        "results that go out as they come",
        """
        import jax
        import numpy as np

        predict = jax.jit(lambda params, batch: batch @ params)

        def serve(params, requests):
            for request in requests:
                yield np.asarray(predict(params, request))

        class Learner:
            def learn(self, params, batches):
                for number, batch in enumerate(batches):
                    params = predict(params, batch)
                    self.for_actors = (number, jax.device_get(params))
                    print(float(params[0]))

        def collect(params, requests, sink):
            for request in requests:
                sink.write(jax.device_get(predict(params, request)))

        def one_after_the_other(params, chunks):
            for chunk in chunks:
                jax.block_until_ready(predict(params, chunk))
        """,
        run="import jax.numpy as jnp\nlist(serve(jnp.ones(2), [jnp.ones(2)]))",
    ),
)

RULE = SourceRule(
    code="JIT105",
    name="host-sync-in-loop",
    severity="warning",
    confidence="likely",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
