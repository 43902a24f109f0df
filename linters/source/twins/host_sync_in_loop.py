"""What host-sync-in-loop must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

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
