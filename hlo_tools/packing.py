"""Temporary buffers put side by side, as XLA's heap does: what a program takes is more than what lives at its peak.

The algorithm is GlobalDecreasingSizeBestFitHeap of XLA (xla/service/heap_simulator): the largest buffer first, each in
the smallest hole that holds it among the buffers alive at the same time, at the lowest address where holes are alike.
XLA tries it with the longest-lived first too and keeps the smaller result.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, field

from .assignment import HeapTrace, LogicalBuffer

MOST = 2_000
"""Of more buffers the largest so many are put in place: they decide, and the work grows with the square of them."""


@dataclass(slots=True)
class _Block:
    """One memory: the buffer that owns it, its own life and the lives of all that share it, in events of the trace."""

    owner: int
    size: int
    life: tuple[int, int]
    lives: list[tuple[int, int]] = field(default_factory=list)

    def meets(self, other: _Block) -> bool:
        """Whether both hold a value at some event; lives are in order."""
        mine, theirs = self.lives, other.lives
        i = j = 0
        while i < len(mine) and j < len(theirs):
            if mine[i][1] < theirs[j][0]:
                i += 1
            elif theirs[j][1] < mine[i][0]:
                j += 1
            else:
                return True
        return False


def packed(trace: HeapTrace, buffers: Mapping[int, LogicalBuffer], alignment: int) -> tuple[int, dict[int, int]]:
    """Bytes from the first to the last address, and the offset of each buffer that owns memory.

    `alignment` in bytes. Of more than MOST buffers only the largest have an offset; the rest is taken to fit.
    """
    blocks = _blocks(trace, buffers)
    # Ids are in the order of definition, as XLA's.
    by_size = sorted(blocks, key=lambda each: (-each.size, each.life[0] - each.life[1], each.owner))
    spatial = _place(by_size[:MOST], alignment)
    if len(blocks) > MOST:
        return spatial
    by_life = sorted(blocks, key=lambda each: (each.life[0] - each.lives[-1][1], -each.size, each.owner))
    return min(spatial, _place(by_life, alignment), key=lambda each: each[0])


def _blocks(trace: HeapTrace, buffers: Mapping[int, LogicalBuffer]) -> list[_Block]:
    owners: dict[int, int] = {}
    begun: dict[int, int] = {}
    blocks: dict[int, _Block] = {}
    for now, event in enumerate(trace.events):
        buffer = event.buffer_id
        if event.kind == "free":
            _ends(blocks[owners[buffer]], buffer, begun.pop(buffer), now)
            continue
        owner = buffer
        if event.kind == "share":
            owner = owners.get(event.canonical_id, event.canonical_id)
        owners[buffer], begun[buffer] = owner, now
        if owner not in blocks:
            blocks[owner] = _Block(owner, buffers[owner].size, (now, now))
    for buffer, first in begun.items():
        _ends(blocks[owners[buffer]], buffer, first, len(trace.events))
    for block in blocks.values():
        block.lives.sort()
    return list(blocks.values())


def _ends(block: _Block, buffer: int, first: int, last: int) -> None:
    block.lives.append((first, last))
    if buffer == block.owner:
        block.life = first, last


def _place(blocks: list[_Block], alignment: int) -> tuple[int, dict[int, int]]:
    """Blocks in this order, each where it fits best."""
    offsets: dict[int, int] = {}
    placed: list[tuple[int, int, int, _Block]] = []
    top = 0
    for number, block in enumerate(blocks):
        at, best, hole = 0, -1, 0
        first, last = block.lives[0][0], block.lives[-1][1]
        for begin, end, _, other in placed:
            if end <= at or other.lives[-1][1] < first or last < other.lives[0][0] or not block.meets(other):
                continue
            if begin - at >= block.size and (best < 0 or begin - at < hole):
                best, hole = at, begin - at
            at = max(at, end)
        offset = at if best < 0 else best
        offsets[block.owner] = offset
        insort(placed, (offset, offset + -(-block.size // alignment) * alignment, number, block))
        top = max(top, offset + block.size)
    return top, offsets
