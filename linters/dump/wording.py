"""How rules on a program alone say things: what a collective is called, what it costs, where it stands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from ...contracts.finding import Location
from ...contracts.manifest import Frame
from ...contracts.model import format_bytes
from ...hlo_tools.collectives import Collective
from ...hlo_tools.frames import user_frame
from ...hlo_tools.instruction import Instruction
from ..program.wording import axes_text, name_at, place_at

Item = TypeVar("Item")
NAMES = 4


def over(row: Collective) -> str:
    """`all-gather over fsdp`; `all-gather among groups of 8` where the axes have no names."""
    axes = row.axes
    if isinstance(axes, tuple):
        return f"{row.kind} over {axes_text(axes)}"
    if row.kind == "collective-permute":
        return row.kind
    return f"{row.kind} among {'all ' if len(row.groups) == 1 else 'groups of '}{row.group_size}"


def cost(rows: Iterable[Collective]) -> str:
    """`12 executions, 3.00 MiB sent by each device in a step`; loops of unknown length are said."""
    rows = list(rows)
    runs, sent = executions(rows), sum(row.ring_bytes for row in rows)
    unknown = any(row.unknown_loops for row in rows)
    text = f"{runs:,} execution{'s' * (runs != 1)}, {format_bytes(sent)} sent by each device in a step"
    return f"{text} (a loop of unknown length counted once)" if unknown else text


def executions(rows: Iterable[Collective]) -> int:
    """How often their instructions run: the arrays of a combined one travel together."""
    return sum({(row.computation, instruction_name(row)): row.count for row in rows}.values())


def instruction_name(row: Collective) -> str:
    """The name that stands in the program, also of one array of a combined collective."""
    return row.instruction.name if row.instruction is not None else row.name


def frame_of(row: Collective) -> Frame | None:
    return user_frame(row.frames)


def place_of(row: Collective) -> Location | None:
    """The line of Python that asked for it; else where it stands in the dump."""
    return place_at(frame_of(row)) or (row.instruction.location if row.instruction else None)


def line_of(row: Collective) -> str:
    """`at train.py:53`, the line of Python that asked for it; else where it stands in the dump, if that has lines."""
    if row.source is not None:
        return f"at {row.source}"
    place = row.instruction.location if row.instruction is not None else None
    return f"on line {place.line} of the dump" if place is not None and place.line is not None else "without a line"


def place_of_instruction(instruction: Instruction) -> Location | None:
    """The line of Python it comes from; else where it stands in the dump."""
    return place_at(user_frame(instruction.frames)) or instruction.location


def subject_of(row: Collective) -> str:
    """A name that survives edits elsewhere: what it is, and the function that asked for it."""
    named = name_at(frame_of(row), row) or (row.instruction.shape.text if row.instruction else "")
    return f"{row.kind}:{row.group_size}:{named}"


def alike(row: Collective) -> Hashable:
    """What rows share that are one thing to mend: the line that asked, the devices, and without a line the shape."""
    frame = frame_of(row)
    where = (frame.path, frame.line) if frame else (row.scope, row.parts)
    return row.kind, row.groups, where


def together(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[list[Item]]:
    """The items that share a key, in the order in which the keys appear."""
    found: dict[Hashable, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return list(found.values())


def names(found: Sequence[Collective | Instruction]) -> str:
    """`%all-gather.1`, `%all-gather.1 and %all-gather.2`, `%all-gather.1, ... and 12 more`."""
    listed = list(dict.fromkeys(f"%{instruction_name(x) if isinstance(x, Collective) else x.name}" for x in found))
    if len(listed) > NAMES:
        return f"{', '.join(listed[: NAMES - 1])} and {len(listed) - NAMES + 1:,} more"
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"


def details(rows: Sequence[Collective]) -> dict[str, object]:
    """The machine-readable facts of a finding on collectives."""
    axes = rows[0].axes
    return {
        "kind": rows[0].kind,
        "axes": list(axes) if isinstance(axes, tuple) else axes,
        "instructions": list(dict.fromkeys(map(instruction_name, rows))),
        "count": executions(rows),
        "ring_bytes": sum(row.ring_bytes for row in rows),
    }
