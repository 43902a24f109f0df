"""Where a function reads results on the host, and the loop in whose rounds it does so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .pattern import Pattern
from .rebuilt import comes_again, few_rounds
from .records import Branch, Call, Function, Loop
from .rounds import carries
from .syncs import Sync, reads_of, syncs, unconditional

if TYPE_CHECKING:
    from .facts import FileFacts

_SHOWS = Pattern(r"(?i)display|plot|draw|render|visuali|animate|show_")
MEASURES = Pattern(r"(?i)bench|profil|timeit|latency|throughput")
"""Names of what is there to wait."""


def reads(facts: FileFacts, reader: Function) -> Iterator[tuple[object, Sync, Call | Branch]]:
    """All that reads numbers in a function, with what is told apart by."""
    for call in reader.calls:
        callee = facts.callee(call)
        if callee.jit is not None:
            continue
        line = getattr(call.statement or call.node, "lineno", 0)
        # What a parameter calls is the caller's choice, and no fault of this loop.
        function = None if callee.wraps or call.func.op == "param" else callee.function
        if function is not None and not _SHOWS.search(function.name):
            read = reads_of(facts.program, function.id)
            given = facts.arguments(call) if read else {}
            values = [given[name] for name in sorted(read) if name in given]
            if values:
                yield line, Sync(f"{function.name}()", "text", values), call
        for sync in syncs(call, callee.name if not callee.wraps else None):
            yield line, sync, call
    for branch in reader.branches:
        if branch.kind == "if" and branch.value is not None:
            yield getattr(branch.node, "lineno", 0), Sync("this condition", "number", [branch.value]), branch


def shared(facts: FileFacts, source: Call, record: Call | Branch) -> Loop | None:
    """The loop in whose same round a result is made and read; None where a loop stands between them."""
    loop = source.block.loop
    if loop is None or loop.once or loop not in list(record.block.loops()) or comes_again(source.block) is not loop:
        return None
    return None if few_rounds(facts, loop.iterable) else loop


def calling(facts: FileFacts, function: Function) -> Loop | None:
    """A plain training loop of this file that calls a function in every round."""
    for other in facts.functions:
        if other is function or facts.traced(other) is not None or MEASURES.search(other.name):
            continue
        for call in other.calls:
            loop = call.block.loop
            if loop is None or loop.kind == "comprehension" or comes_again(call.block) is not loop:
                continue
            callee = facts.callee(call)
            if callee.function is None or callee.wraps or callee.function.id != function.id:
                continue
            inner = any(each.block.loop is loop and each.kind != "comprehension" for each in other.loops)
            if inner or few_rounds(facts, loop.iterable) or not unconditional(call.block, loop):
                continue
            if carries(call, loop):
                return loop
    return None
