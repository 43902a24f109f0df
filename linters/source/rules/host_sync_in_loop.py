"""A loop on the host reads the result of a compiled function in every round, and waits for it.

## What it does
Reports reads of what a compiled function gave in the same round of a loop: `float`, `int`, `.item()`, `numpy.asarray`
and other numpy functions, `jax.device_get`, `jax.block_until_ready`, `print`, f-strings, progress bars, conditions;
also where a helper function does the reading, and where the loop stands in a caller of this file. Numbers that are read
are certain; a wait that is written as one (`x.block_until_ready()`) may be meant and is likely.

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
from ..rule import SourceRule
from ..syncs import unconditional
from ..twins.host_sync_in_loop import BAD, GOOD

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
                confidence="certain" if straight and sync.kind == "number" else "likely",
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
