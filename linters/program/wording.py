"""How rules on the program say things: collectives, axes and places in one spelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...contracts.finding import Location
from ...contracts.model import format_bytes
from ...hlo_tools.collectives import Collective
from ..evidence import frame_location


def axes_text(axes: Sequence[str]) -> str:
    """`data x fsdp`, or `no axis`."""
    return " x ".join(axes) if axes else "no axis"


def spec_text(spec: Sequence[Sequence[str]] | None) -> str:
    """A placement as JAX prints it: `P('data', None, ('a', 'b'))`; trailing Nones are dropped."""
    if spec is None:
        return "left to the compiler"
    parts = [repr(d[0]) if len(d) == 1 else repr(tuple(d)) if d else "None" for d in spec]
    while parts and parts[-1] == "None":
        parts.pop()
    return f"P({', '.join(parts)})"


def total_text(count: int, elements: int | None) -> str:
    """`12 executions, 1,048,576 elements`."""
    runs = f"{count:,} execution{'s' if count != 1 else ''}"
    return runs if elements is None else f"{runs}, {elements:,} elements"


def cost_text(rows: Iterable[Collective]) -> str:
    """What rows cost together: executions, elements, and bytes sent per device in a step."""
    rows = list(rows)
    total = total_text(sum(row.count for row in rows), sum(row.elements for row in rows))
    return f"{total}, {format_bytes(sum(int(row.ring_bytes) for row in rows))} sent per device and step"


def place_of(row: Collective) -> Location | None:
    """The innermost user frame of a collective."""
    return frame_location(row.frames)


def function_of(row: Collective) -> str:
    """A name for the place that survives line shifts."""
    return f"{row.frames[0].path}:{row.frames[0].function}" if row.frames else row.scope or ""
