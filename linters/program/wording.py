"""How rules on the program say things: collectives, axes and places in one spelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...contracts.finding import Location
from ...contracts.manifest import Frame
from ...contracts.model import format_bytes
from ...hlo_tools.collectives import Collective
from ...hlo_tools.frames import user_frames
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


def frame_apart(rows: Sequence[Collective], others: Iterable[Collective]) -> Frame | None:
    """The innermost user frame of `rows` that none of the `others` has too, else the innermost.

    A helper that gathers every parameter stands in the stack of each of them; the line that asked once too often is the
    first one out that is theirs alone.
    """
    frames = user_frames(rows[0].frames) or list(rows[0].frames)
    shared = {(frame.path, frame.line) for other in others for frame in other.frames}
    return next((frame for frame in frames if (frame.path, frame.line) not in shared), next(iter(frames), None))


def place_at(frame: Frame | None) -> Location | None:
    """A frame as a place."""
    return frame_location([frame]) if frame else None


def name_at(frame: Frame | None, row: Collective) -> str:
    """A name for the place that survives line shifts."""
    return f"{frame.path}:{frame.function}" if frame else row.scope or ""
