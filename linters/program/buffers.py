"""The buffers behind a memory figure in words: by source line, largest first, and what to do about the largest."""

from __future__ import annotations

from ...contracts.finding import Location
from ...contracts.model import format_bytes
from ...hlo_tools.memory import Buffer, MemoryLedger
from ..cut import LARGEST, shown

_SHARD = "shard parameters, optimizer state and gradients over more devices (FSDP, ZeRO)"
_ADVICE = {
    "activation_saved": "rematerialise more (jax.checkpoint around a layer), or use more microbatches",
    "activation_temporary": "use more, smaller microbatches, or shard this activation over another mesh axis",
    "parameter": _SHARD,
    "optimizer_slot": _SHARD,
    "gradient": _SHARD,
    "collective": "gather less at once: keep the gather inside the layer loop",
    "layout_copy": "give both sides the same layout, or let the compiler choose it",
    "padding": "choose sizes whose last two dimensions fill the tiles: multiples of 8 and 128",
    "output": "donate the arguments that the outputs replace",
    "input": "split the batch over more devices, or use more microbatches",
}


def by_source(ledger: MemoryLedger) -> tuple[str, ...]:
    """`64.00 GiB in 3 buffers at src/train.py:17: activation_saved, largest f32[...]`, largest first."""
    groups: dict[str, list[Buffer]] = {}
    for buffer in ledger.buffers:
        groups.setdefault(buffer.source or buffer.scope or "no source line", []).append(buffer)
    ordered = sorted(groups.items(), key=lambda item: (-sum(b.bytes for b in item[1]), item[0]))
    lines = []
    for source, buffers in ordered:
        largest = max(buffers, key=lambda b: (b.bytes, b.name))
        count = f"{len(buffers)} buffer{'s' * (len(buffers) != 1)}"
        total = format_bytes(sum(b.bytes for b in buffers))
        lines.append(f"{total} in {count} at {source}: {largest.class_}, largest {largest.shape or largest.name}")
    return shown(lines, most=LARGEST)


def largest_class(ledger: MemoryLedger) -> str | None:
    """The class that takes most at the peak."""
    return next(iter(ledger.by_class), None)


def advice(ledger: MemoryLedger) -> str:
    """What to do about the class that takes most."""
    found = largest_class(ledger)
    otherwise = "shrink the largest buffers listed here"
    return otherwise if found is None else f"most of it is {found}: {_ADVICE.get(found, otherwise)}"


def first_place(ledger: MemoryLedger) -> Location | None:
    """The source line that holds most, where any does."""
    for source, _ in ledger.by_source:
        path, _, line = source.rpartition(":")
        if path and line.isdecimal():
            return Location(path, int(line))
    return None
