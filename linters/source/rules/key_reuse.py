"""A PRNG key is used twice, and gives the same numbers twice.

## What it does
Follows every key along every path of a function and reports the second use: by a function of `jax.random` (also the use
of a key after it was split), by a function of the project that uses up the key it is given, in each round of a loop, in
the body of a `scan`, and in each shard of a `shard_map` that all get the same key.

## Why is this bad?
A key is a value, not a stream: the same key gives the same numbers. Two layers start with the same weights, noise and
dropout masks repeat, and nothing fails (https://github.com/dunnolab/xland-minigrid/issues/42,
https://github.com/google/flax/commit/6f2b08e0). `jax.debug_key_reuse` finds some of it, at run time, with new-style
keys.

## Example
    def setup(key, count):
        key, sub = jax.random.split(key)
        first = jax.random.normal(key, (count,))
        second = jax.random.uniform(key, (count,))

## Use instead
    def setup(key, count):
        first_key, second_key = jax.random.split(key)
        first = jax.random.normal(first_key, (count,))
        second = jax.random.uniform(second_key, (count,))

In a loop, `jax.random.fold_in(key, step)` gives each round its own key; in a shard, fold in `jax.lax.axis_index`.

## What stays clean
A key that is rebound between two uses, also by a function that is called meanwhile or by a property, `fold_in` with
other data, elements of a split key, one use in each branch, under conditions that exclude each other (`mode == "a"`,
`mode in ("b", "c")`) or in one round of a loop (`if step == 0`), a use before an early return, `jax.random.clone`,
several arrays that are permuted alike, tests (each of their cases may begin with the same key). Keys that are handed
to libraries (`model.init`) are not counted.

## References
- https://docs.jax.dev/en/latest/random-numbers.html
- https://github.com/jax-ml/jax/issues/192
"""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding
from ..facts import FileFacts
from ..holders import changed_between, changed_in, computed, is_plain
from ..keys import KeyUse, repeats
from ..records import Call, Function
from ..rule import SourceRule
from ..summary import HIGHER_ORDER
from ..together import together
from ..twins import key_paths
from ..twins.key_reuse import BAD, GOOD
from ..values.value import Value, dotted

_ROUNDS = frozenset({"jax.lax.scan", "jax.lax.fori_loop", "jax.lax.while_loop", "jax.lax.map", "flax.nnx.scan"})
_ORDERS = frozenset({"jax.random.permutation", "jax.random.choice", "jax.random.shuffle"})
_SHARDS = frozenset({"jax.shard_map", "jax.experimental.shard_map.shard_map"})


def check(facts: FileFacts) -> Iterable[Finding]:
    bodies = _bodies(facts)
    shared = _replicated(facts)
    for function in facts.functions:
        seen: dict[object, list[KeyUse]] = {}
        for use in _uses(facts, function):
            if computed(facts, use.value):
                continue
            loop = None if _aligned(use) else repeats(use)
            if loop is not None and changed_in(facts, use.value, loop, function):
                loop = None
            earlier = next((each for each in seen.get(use.identity, ()) if _again(facts, each, use)), None)
            reported = True
            if loop is not None and earlier is not None and loop not in list(earlier.call.block.loops()):
                earlier = None  # the one use before the loop is the least of it
            if earlier is not None:
                yield _finding(
                    facts,
                    function,
                    use,
                    f"was already used by {earlier.via} on {facts.line(earlier.call.node)}",
                    use.direct and earlier.direct,
                )
            elif loop is not None:
                yield _finding(facts, function, use, "is the same in every round of this loop", use.direct)
            elif not _aligned(use) and _outer(use.value, function) and function.id in bodies:
                how = bodies[function.id]
                yield _finding(facts, function, use, f"is the same in every call that {how} makes", use.direct)
            elif use.value.op == "param" and (function.id, use.value.data.index) in shared:
                yield _finding(facts, function, use, "is the same in every shard: its spec is P()", use.direct)
            else:
                reported = False
            if not reported or earlier is None:
                seen.setdefault(use.identity, []).append(use)


def _uses(facts: FileFacts, function: Function) -> list[KeyUse]:
    """The uses in a function, and in those that it makes and calls: a call of such one uses the keys round it."""
    found = facts.key_uses(function)
    for call in function.calls:
        inner = call.func.data if call.func.op == "function" and call.decorates is None else None
        if inner is None or inner.parent is not function:
            continue
        if any(
            each.kind == "nonlocal" for other in facts.functions if function in other.chain() for each in other.stores
        ):
            break  # which value a name has then is not known
        for use in facts.key_uses(inner):
            if use.value.op in ("param", "call", "item") and _outer(use.value, inner):
                found.append(KeyUse(call, use.value, use.identity, inner.name, False))
    return sorted(found, key=lambda each: each.call.order)


def _aligned(use: KeyUse) -> bool:
    """Whether it picks or orders elements: the same key for several arrays keeps their rows together."""
    return use.via in _ORDERS


def _again(facts: FileFacts, first: KeyUse, second: KeyUse) -> bool:
    if _aligned(first) and first.via == second.via:
        return False
    if not together(first.call.block, second.call.block):
        return False
    return not changed_between(facts, second.value, first.call, second.call)


def _finding(facts: FileFacts, function: Function, use: KeyUse, what: str, sure: bool) -> Finding:
    key = use.value.node
    name = use.value.data.name if use.value.op == "param" else facts.text(key) if key is not None else "key"
    written = _argument_text(facts, use) or name
    return facts.finding(
        RULE,
        use.call.node,
        f"the key `{written}` {what}: {use.via} repeats its numbers",
        subject=f"{function.name}: {written} in {use.via}",
        help="split the key, or fold in what tells the uses apart",
        confidence="certain" if sure and is_plain(facts, use.value) else "likely",
    )


def _argument_text(facts: FileFacts, use: KeyUse) -> str | None:
    """The key as the call writes it."""
    node = use.call.node
    for value, written in zip(use.call.args, getattr(node, "args", ()), strict=False):
        if value is use.value:
            return facts.text(written)
    for keyword in getattr(node, "keywords", ()):
        if use.call.keywords.get(keyword.arg) is use.value:
            return facts.text(keyword.value)
    return None


def _outer(value: Value, function: Function, depth: int = 0) -> bool:
    """Whether a value comes from the code round a function."""
    if value.op in ("param", "call"):
        return value.data.function is not function
    if value.op in ("item", "attr") and depth < 8:
        base, *index = value.args
        return _outer(base, function, depth + 1) and all(
            each.op == "const" or _outer(each, function, depth + 1) for each in index
        )
    return False


def _bodies(facts: FileFacts) -> dict[str, str]:
    """Functions that one call runs many times: bodies of loops, what tree.map is given."""
    found: dict[str, str] = {}
    for function in facts.functions:
        for call in function.calls:
            name = dotted(call.func)
            if name is None or not call.args:
                continue
            rounds = name in _ROUNDS
            if not rounds and not (name in HIGHER_ORDER and name.startswith("jax.tree")):
                continue
            for given in call.args[: 3 if rounds else 1]:
                if given.op == "function":
                    found[given.data.id] = name
    return found


def _replicated(facts: FileFacts) -> set[tuple[str, int]]:
    """Parameters of functions under shard_map whose spec is a literal `P()`."""
    found: set[tuple[str, int]] = set()
    for function in facts.functions:
        for call in function.calls:
            callee = facts.callee(call)
            if callee.name not in _SHARDS or callee.wraps:
                continue
            given = call.args[0] if call.args else call.keywords.get("f")
            specs = call.keywords.get("in_specs") or (call.args[2] if len(call.args) > 2 else None)
            specs = specs or callee.bound_keywords.get("in_specs")
            if given is None or given.op != "function" or specs is None or specs.op != "tuple":
                continue
            found |= {(given.data.id, at) for at, spec in enumerate(specs.args) if _is_empty_spec(facts, spec)}
    return found


def _is_empty_spec(facts: FileFacts, value: Value) -> bool:
    if value.op != "call":
        return False
    call: Call = value.data
    name = facts.callee(call).name or ""
    return name.rpartition(".")[2] in ("PartitionSpec", "P") and not call.args


RULE = SourceRule(
    code="SEM101",
    name="key-reuse",
    severity="warning",
    doc=__doc__ or "",
    check=check,
    bad=(*BAD, *key_paths.BAD),
    good=(*GOOD, *key_paths.GOOD),
    skips_tests=True,
)
