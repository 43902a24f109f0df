"""What use-after-donate must find, and what it must leave alone."""

from __future__ import annotations

from ..rule import Example

BAD = (
    Example(
        "compared with the step before",
        """
        import jax
        import jax.numpy as jnp

        def _step(state, batch):
            return state + batch.sum(), batch.mean()

        step = jax.jit(_step, donate_argnums=(0,))

        def train(state, batches):
            moved = []
            for batch in batches:
                new_state, loss = step(state, batch)
                moved.append(jnp.abs(new_state - state))  # bad
                state = new_state
            return state, moved
        """,
        run="train(jnp.ones(2), [jnp.ones(2)])",
        raises="RuntimeError",
    ),
    Example(
        "the donation is in a helper of another file, by name and through a partial",
        """
        import jax.numpy as jnp
        from update import advance

        def train(params, opt_state, batch):
            new_params = advance(params, batch)
            return new_params, jnp.sum(params)  # bad

        def whole(params, batch):
            state = {"params": params, "count": jnp.zeros(())}
            state = advance(state, batch)
            return state, params * 2  # bad
        """,
        files={
            "update.py": """
            from functools import partial
            import jax

            @partial(jax.jit, donate_argnames=("state",))
            def _advance(batch, state):
                return jax.tree.map(lambda s: s + batch.sum(), state)

            def advance(state, batch):
                return _advance(batch, state=state)
            """
        },
        run="import example\nexample.train(jnp.ones(2), None, jnp.ones(2))",
        raises="RuntimeError",
    ),
    Example(
        "donated and read in one call",
        """
        import jax
        import jax.numpy as jnp

        mix = jax.jit(lambda target, online: 0.9 * target + 0.1 * online, donate_argnums=0)

        def start(params):
            params = jnp.asarray(params)
            return mix(params, params)  # bad
        """,
        run="start([1.0, 2.0])",
        raises="Exception",
    ),
    Example(
        "what the first round took",
        """
        import jax
        import jax.numpy as jnp

        class Learner:
            def __init__(self):
                self.advance = jax.jit(self._update, donate_argnums=(0,))

            def _update(self, params, batch):
                return params - batch

            def fit(self, batches):
                first = jnp.ones(2)
                params = first
                for batch in batches:
                    params = self.advance(params, batch)
                return params - first  # bad

            def again(self, cache, batches):
                outputs = []
                for batch in batches:
                    outputs.append(self.advance(cache, batch))  # bad
                return outputs
        """,
        run="Learner().fit([jnp.ones(2)])",
        raises="RuntimeError",
    ),
    Example(
        "whichever of two functions is called",
        """
        import jax
        import jax.numpy as jnp

        fast = jax.jit(lambda s, b: s + b, donate_argnums=0)
        slow = jax.jit(lambda s, b: s * b, donate_argnums=0)
        score = jax.jit(lambda s, b: (s + b).sum())

        def run(state, batch, train):
            step = fast if train else score
            out = step(state, batch)
            return out, state * 2  # bad

        def either(state, batch, small):
            step = fast if small else slow
            new = step(state, batch)
            return new - state  # bad

        def later(state, batch, mode):
            if mode == "train":
                new = fast(state, batch)
            else:
                new = score(state, batch)
            if mode != "eval":
                new = new + state  # bad
            return new
        """,
        run="either(jnp.ones(2), jnp.ones(2), True)",
        raises="RuntimeError",
    ),
    Example(
        "without a name of its own: an attribute, an element, unpacked arguments, in a closure",
        """
        import jax
        import jax.numpy as jnp

        step = jax.jit(lambda state, batch: state + batch, donate_argnums=0)
        whole = step.lower(jnp.ones(2), jnp.ones(2)).compile()

        class Trainer:
            def __init__(self, state):
                self.state = state
                self.step = step

            def moved(self, batch):
                new = self.step(self.state, batch)
                moved = new - self.state  # bad
                self.state = new
                return moved

        def several(state, batch):
            held = {"state": state}
            new = step(held["state"], batch)
            return new - held["state"]  # bad

        def unpacked(state, batch):
            both = (state, batch)
            return step(*both) - state  # bad

        def later(state, batch):
            def norm():
                return jnp.linalg.norm(state)  # bad

            return step(state, batch), norm()

        def compiled(state, batch):
            return whole(state, batch) * state.sum()  # bad
        """,
        run="Trainer(jnp.ones(2)).moved(jnp.ones(2))",
        raises="RuntimeError",
    ),
)

GOOD = (
    Example(
        "bound again, read before, copied, and only asked for its shape",
        """
        import jax
        import jax.numpy as jnp

        def _step(state, batch):
            return jax.tree.map(lambda s: s + batch.sum(), state), batch.mean()

        step = jax.jit(_step, donate_argnums=0)

        def train(state, batches):
            names, size = list(state), state["w"].shape
            start = {name: jnp.copy(value) for name, value in state.items()}
            for batch in batches:
                before = state["w"].sum()
                state, loss = step(state, batch)
            return {name: state[name] - start[name] for name in names}, size, before, loss

        def once(array, batch):
            new, _ = step(array, batch)
            assert array is not new and isinstance(array, jax.Array)
            return new, array.shape, array.dtype, array.is_deleted()
        """,
        run="train({'w': jnp.ones(2)}, [jnp.ones(2)] * 2)\nonce(jnp.ones(2), jnp.ones(2))",
    ),
    Example(
        "a tree of arrays: its keys, their shapes, other leaves, what is put there",
        """
        import jax
        import jax.numpy as jnp
        import numpy as np
        from flax.training.train_state import TrainState

        step = jax.jit(lambda tree: jax.tree.map(lambda leaf: leaf * 2, tree), donate_argnums=0)

        def shapes(tree):
            return jax.tree.map(lambda leaf: leaf.shape, tree)

        def train(tree):
            new = step(tree)
            first = jax.tree.leaves(tree)[0].dtype
            known = "w" in tree and list(tree) and [name for name in tree] and sorted(tree.keys())
            sizes = tree["w"].shape[0], tree["w"].ndim, shapes(tree)
            jax.tree.map(lambda leaf: leaf.delete(), tree)
            tree["w"] = new["w"]
            tree.update(new)
            del tree["w"]
            tree.clear()
            return new, first, known, sizes

        def pair(both):
            new = step(both)
            left, right = both
            return new, left.shape, right.shape

        def host(rows):
            batch = {"x": np.ones(rows)}
            return step(batch), batch["x"].sum(), batch

        def state(held: TrainState):
            return step(held), held.apply_fn, held.params["w"].shape

        def until_empty(state, trees):
            while True:
                try:
                    next(trees)
                except StopIteration:
                    break
                state = step(state)
            return state["w"] + 1

        class Trainer:
            def __init__(self, state):
                self.state = state

            def until_empty(self, trees):
                while True:
                    if next(trees, None) is None:
                        break
                    self.state = step(self.state)
                return self.state["w"] + 1

            def advance(self, state):
                self.state = step(state)

            def run(self):
                self.advance(self.state)
                kept = self.state
                self.state = step(self.state)
                return self.state, kept is self.state
        """,
        run="train({'w': jnp.ones(2)}); pair((jnp.ones(2), jnp.ones(2))); host(2); Trainer({'w': jnp.ones(2)}).run()",
    ),
    Example(
        "other paths, and what is not donated",
        """
        from functools import partial
        import jax
        import jax.numpy as jnp

        fast = jax.jit(lambda x, y: x + y, donate_argnums=(0,))
        plain = jax.jit(lambda x, y: x + y)

        def run(x, y, inplace):
            if inplace:
                return fast(x, y)
            first = plain(x, y)
            return first + x + y

        def careful(x, y):
            try:
                out = fast(x, y)
            except ValueError:
                out = plain(x, y)
            return out + y

        def turns(x, ys):
            for y in ys:
                x = fast(jnp.copy(x), y) + x
            return x

        def prepare(x, y):
            out = fast(x, y)

            @partial(jax.jit, donate_argnums=(0,))
            def twice(z):
                return z * 2

            return twice(out)
        """,
        run="run(jnp.ones(2), jnp.ones(2), True)\ncareful(jnp.ones(2), jnp.ones(2))",
    ),
    Example(
        "only where the other function was called, or after it was bound again out of sight",
        """
        import jax
        import jax.numpy as jnp

        fast = jax.jit(lambda s, b: s + b, donate_argnums=0)
        score = jax.jit(lambda s, b: (s + b).sum())

        def run(state, batch, train):
            step = fast if train else score
            out = step(state, batch)
            if not train:
                out = out + state.sum()
            return out

        def chosen(state, batch, mode):
            step = score
            if mode == "train":
                step = fast
            out = step(state, batch)
            if mode in ("eval", "test"):
                out = out + state.sum()
            return out

        def told(state, batch, mode):
            new = batch
            if mode == "train":
                new = fast(state, batch)
            if mode == "eval":
                new = new + state
            return new

        def rebound(state, batch):
            new = fast(state, batch)

            def keep():
                nonlocal state
                state = new

            keep()
            return state + 1

        class Trainer:
            def __init__(self, scale):
                self.scale = scale

            @property
            def state(self):
                return jnp.full(2, self.scale)

            def step(self, batch):
                return fast(self.state, batch) + self.state
        """,
        run="run(jnp.ones(2), jnp.ones(2), False); run(jnp.ones(2), jnp.ones(2), True)\n"
        "chosen(jnp.ones(2), jnp.ones(2), 'train'); chosen(jnp.ones(2), jnp.ones(2), 'test')\n"
        "told(jnp.ones(2), jnp.ones(2), 'train'); rebound(jnp.ones(2), jnp.ones(2)); Trainer(1.0).step(jnp.ones(2))",
    ),
    Example(
        "a module is updated in place",
        """
        from flax import nnx

        @nnx.jit(donate_argnums=0)
        def train_step(model, x):
            model.scale[...] = model.scale[...] + x.mean()
            return x.sum()

        def train(model, batches):
            for batch in batches:
                loss = train_step(model, batch)
            return model, loss
        """,
    ),
    Example(
        "inside a compiled function, and in a loop that leaves",
        """
        import jax
        import jax.numpy as jnp

        inner = jax.jit(lambda x: x * 2, donate_argnums=0)

        @jax.jit
        def outer(x):
            return inner(x) + x

        def first_that_fits(x, limits):
            for limit in limits:
                if limit > 3:
                    return inner(x)
            return x
        """,
        run="outer(jnp.ones(2))\nfirst_that_fits(jnp.ones(2), [1, 5])",
    ),
    Example(
        "a read that must fail",
        """
        import jax
        import jax.numpy as jnp
        import pytest

        step = jax.jit(lambda state: state + 1, donate_argnums=0)

        def deleted():
            state = jnp.zeros(3) + 1
            step(state)
            with pytest.raises(RuntimeError):
                print(state)
        """,
        run="deleted()",
    ),
)
