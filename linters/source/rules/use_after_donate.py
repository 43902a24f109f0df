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
A name that is bound again by the same statement, reads before the call, copies, shapes and dtypes (they survive), other
branches, handlers of exceptions, `flax.nnx.jit` (it puts the new arrays into the module), compiled code (an inner
donation has no effect there), tests.

## References
- https://docs.jax.dev/en/latest/buffer_donation.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ....contracts.finding import Finding
from ..apis import STATIC_ATTRIBUTES
from ..donation import donated, leaves
from ..facts import FileFacts
from ..keys import same, together
from ..rebuilt import comes_again
from ..records import Call, Function, Loop, Read, Record
from ..rule import Example, SourceRule
from ..values.value import Value, dotted

_SURVIVE = STATIC_ATTRIBUTES | {"is_deleted", "delete", "device", "devices", "__dict__"}
_ASK_NO_NUMBERS = frozenset(
    {
        "builtins.isinstance", "builtins.len", "builtins.type", "builtins.id", "builtins.hasattr", "jax.typeof",
        "jax.tree.structure", "jax.tree_util.tree_structure", "jax.eval_shape", "jax.numpy.shape", "jax.numpy.ndim",
        "builtins.callable",
    }
)  # fmt: skip
_STATE = frozenset({"params", "opt_state", "batch_stats", "mu", "nu", "ema", "ema_params", "weights", "variables"})


class Gone:
    """A value that a call donated. `round` is the loop whose first round takes it, where it came before the loop."""

    __slots__ = ("call", "plain", "round", "value")

    def __init__(self, call: Call, value: Value, plain: bool, round: Loop | None = None) -> None:
        self.call = call
        self.value = value
        self.plain = plain
        self.round = round


def check(facts: FileFacts) -> Iterable[Finding]:
    for function in facts.host_functions():
        told: set[int] = set()
        for call in function.calls:
            if call.decorates is not None:
                continue
            away = donated(facts, call)
            for how, value, itself in away:
                finding = _at_once(facts, call, how, value, itself)
                if finding is not None:
                    told.add(id(call))
                    yield finding
                    continue
                for gone in _gone(facts, call, value, itself):
                    read = next(_later(facts, function, gone), None)
                    if read is not None and id(read) not in told:
                        told.add(id(read))
                        yield _read(facts, gone, how, read)
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
    for each in (*call.args, *call.keywords.values()):
        if each is value and not found:
            found = True
            continue
        yield each.args[0] if each.op == "star" else each


def _twice(call: Call, value: Value) -> bool:
    return sum(each is value for each in (*call.args, *call.keywords.values())) > 1 and value.op not in (
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


def _gone(facts: FileFacts, call: Call, value: Value, itself: bool) -> Iterator[Gone]:
    value = same(value)
    for each, plain in leaves(facts.program, value):
        if each.op not in ("const", "name", "function", "class", "ref", "unknown"):
            yield Gone(call, each, plain and itself)
    before = value
    while before.op == "loop" and before.args[0] is not before:
        loop, before = before.data, before.args[0]
        if before.op in ("param", "call", "item"):
            yield Gone(call, before, False, loop)


def _later(facts: FileFacts, function: Function, gone: Gone) -> Iterator[Record]:
    """Where a donated value is read after the call."""
    call = gone.call
    for read in function.reads:
        if not _after(gone, read):
            continue
        taken = read.value is gone.value or (gone.round is None and _part_of(read.value, gone.value))
        if taken and together(call.block, read.block) and not _harmless(facts, function, read):
            yield read
    if gone.value.op not in ("attr", "item"):
        return
    uses: list[tuple[Record, Iterable[Value]]] = [
        *((each, (*each.args, *each.keywords.values())) for each in function.calls),
        *((each, each.value.args) for each in function.arithmetic),
        *((each, (each.value,)) for each in function.returns),
    ]
    for record, values in uses:
        if _after(gone, record) and record is not call and any(each is gone.value for each in values):
            asks = isinstance(record, Call) and facts.callee(record).name in _ASK_NO_NUMBERS
            if together(call.block, record.block) and not asks:
                yield record


def _after(gone: Gone, record: Record) -> bool:
    if record.order > gone.call.order:
        return True
    return gone.round is not None and gone.round in list(record.block.loops())


def _part_of(value: Value, whole: Value) -> bool:
    """Whether a name was bound to a part of what was donated: parameters taken out of a state."""
    for _ in range(4):
        if (value.op == "attr" and value.data in _STATE) or (
            value.op == "item" and value.args[1].op == "const" and value.args[1].data in _STATE
        ):
            value = value.args[0]
        else:
            return False
        if value is whole:
            return True
    return False


def _harmless(facts: FileFacts, function: Function, read: Record) -> bool:
    """Whether only what survives is asked for: a shape, a type, whether it is None."""
    if read.statement is None:
        return False
    path = _path(read.statement, read.node)
    parent = path[-1] if path else None
    if isinstance(parent, ast.Attribute):
        grand = path[-2] if len(path) > 1 else None
        return parent.attr in _SURVIVE or (isinstance(grand, ast.Attribute) and grand.attr in _SURVIVE)
    if isinstance(parent, ast.Compare):
        return all(isinstance(each, (ast.Is, ast.IsNot)) for each in parent.ops)
    if isinstance(parent, ast.Call):
        found = next((each for each in function.calls if each.node is parent), None)
        return found is not None and (facts.callee(found).name or dotted(found.func)) in _ASK_NO_NUMBERS
    return False


def _path(statement: ast.AST, wanted: ast.AST) -> list[ast.AST]:
    """The nodes from a statement down to the one round a node."""
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(statement, [])]
    while stack:
        node, above = stack.pop()
        if node is wanted:
            return above
        stack += [(each, [*above, node]) for each in ast.iter_child_nodes(node)]
    return []


def _read(facts: FileFacts, gone: Gone, how: str, read: Record) -> Finding:
    called = facts.text(getattr(gone.call.node, "func", gone.call.node))
    first = "the first round of the loop" if gone.round is not None else "it"
    sure = gone.plain and getattr(read, "value", None) is gone.value
    # A read of a name stands by itself; of an attribute or element it is the record of what is done with it.
    taken = facts.text(read.node) if isinstance(read, Read) else facts.named(gone.value)
    return facts.finding(
        RULE,
        read.node if isinstance(read.node, ast.expr) else read.statement or read.node,
        f"`{taken}` is read here, but `{called}` on {facts.line(gone.call.node)} took {how}: {first} has deleted it",
        subject=f"{read.function.name}: {taken} after {called}",
        help="bind the result to the same name, read it before the call, or pass a copy",
        confidence="certain" if sure and not _perhaps(gone.call, read) else "likely",
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
