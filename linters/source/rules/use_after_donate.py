"""An array is read after it was donated to a compiled function.

## What it does
Follows what a call donates (`donate_argnums`, `donate_argnames`, `donate="all"`), and reports later reads of it on the
same path, reads in the same call, and calls in a loop that donate in each round what was gone after the first. A
function that hands its argument on to such a call donates it too.

## Why is this bad?
The memory of a donated array is written over, and the array is deleted: reading it raises `Array has been deleted`
(https://github.com/jax-ml/jax/issues/9675). Donated and read in one call, it was a hang on some backends
(https://github.com/jax-ml/jax/issues/9635).

## Example
    step = jax.jit(_step, donate_argnums=0)

    def train(state, batch):
        new_state, loss = step(state, batch)
        drift = jnp.abs(new_state - state)

## Use instead
    def train(state, batch):
        before = jnp.copy(state)
        state, loss = step(state, batch)
        drift = jnp.abs(state - before)

## What stays clean
A name that is bound again by the same statement, reads before the call, copies, shapes and dtypes (they survive), the
keys and length of a tree of arrays, what is put into it or taken out, its leaves that are NumPy arrays, other
branches, handlers of exceptions, `flax.nnx.jit` (it puts the new arrays into the module), compiled code (an inner
donation has no effect there), tests.

## References
- https://docs.jax.dev/en/latest/buffer_donation.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..after_donation import Gone, gone_with, is_part_of, used_after
from ..buffers import Use
from ..donation import donated, leaves
from ..facts import FileFacts
from ..keys import same
from ..rebuilt import comes_again
from ..records import Call, Function, Loop, Record
from ..rule import Example, SourceRule
from ..values.value import Value, spread


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.host_functions():
        told: set[ast.AST] = set()
        for call in function.calls:
            if call.decorates is not None:
                continue
            away = donated(facts, call)
            for how, value, itself in away:
                finding = _at_once(facts, call, how, value, itself)
                if finding is not None:
                    told.add(call.node)
                    yield finding
                    continue
                for gone in gone_with(facts, call, value, itself):
                    found = next(used_after(facts, function, gone), None)
                    if found is not None and found[0].node not in told:
                        told.add(found[0].node)
                        yield _read(facts, gone, how, found)
                        break


def _at_once(facts: FileFacts, call: Call, how: str, value: Value, itself: bool) -> Finding | None:
    """The call itself reads, or has donated before, what it donates."""
    mine = {id(each) for each, _ in leaves(facts.program, value) if each.op not in ("const", "name", "function")}
    others = [id(each) for given in _given(call, value) for each, _ in leaves(facts.program, given)]
    called = facts.text(getattr(call.node, "func", call.node))
    if (mine & set(others)) or _twice(call, value):
        return facts.finding(
            RULE,
            call.node,
            f"`{called}` donates {how} and reads it as another argument of the same call",
            subject=f"{call.function.name}: {called} donates and reads",
            help="pass a copy, or do not donate it",
            severity="error",
            confidence="certain" if itself else "likely",
        )
    loop = comes_again(call.block)
    if loop is None or not _outside(same(value), loop, call.function) or loop.kind == "comprehension":
        return None
    if any(each is not loop for each in call.block.loops() if each.once):
        return None
    return facts.finding(
        RULE,
        call.node,
        f"`{called}` donates {how} in every round of this loop, but it is deleted after the first",
        subject=f"{call.function.name}: {called} donates in a loop",
        help="bind the result to the same name, or pass a copy",
        confidence="certain" if itself and not _conditional(call, loop) else "likely",
    )


def _given(call: Call, value: Value) -> Iterator[Value]:
    """The other arguments of a call."""
    found = False
    for each in (*spread(call.args), *call.keywords.values()):
        if each is value and not found:
            found = True
            continue
        yield each.args[0] if each.op == "star" else each


def _twice(call: Call, value: Value) -> bool:
    return sum(each is value for each in (*spread(call.args), *call.keywords.values())) > 1 and value.op not in (
        "const",
        "name",
    )


def _outside(value: Value, loop: Loop, function: Function) -> bool:
    """Whether a value was there before the loop, and is the same in each round."""
    if value.op == "param":
        return True
    if value.op == "call":
        made: Call = value.data
        return made.function is function and loop not in list(made.block.loops())
    if value.op == "item" and value.args[1].op == "const":
        return _outside(same(value.args[0]), loop, function)
    return False


def _conditional(call: Call, loop: Loop) -> bool:
    return any(each.branch is not None for each in call.block.chain() if each.loop is loop)


def _read(facts: FileFacts, gone: Gone, how: str, found: tuple[Use, Record, str]) -> Finding:
    use, when, need = found
    called = facts.text(getattr(gone.call.node, "func", gone.call.node))
    first = "the first round of the loop" if gone.round is not None else "it"
    sure = gone.plain and need == "certain" and not is_part_of(use.value, gone.value)
    taken = facts.text(use.node)
    return facts.finding(
        RULE,
        use.node,
        f"`{taken}` is read here, but `{called}` on {facts.line(gone.call.node)} took {how}: {first} has deleted it",
        subject=f"{use.record.function.name}: {taken} after {called}",
        help="bind the result to the same name, read it before the call, or pass a copy",
        confidence="certain" if sure and not _perhaps(gone.call, when) else "likely",
    )


def _perhaps(call: Call, read: Record) -> bool:
    """Whether conditions stand before the call that do not stand before the read."""
    mine = {id(each) for each in read.block.chain()}
    return any(id(each) not in mine and each.branch is not None for each in call.block.chain())


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
        """,
        run="run(jnp.ones(2), jnp.ones(2), True)\ncareful(jnp.ones(2), jnp.ones(2))",
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
)

RULE = SourceRule(
    code="MEM101",
    name="use-after-donate",
    severity="error",
    confidence="certain",
    doc=__doc__ or "",
    check=check,
    bad=BAD,
    good=GOOD,
    skips_tests=True,
)
