"""XLA's `memory-usage-report.txt`: the sizes of a program's allocations by memory space, without what they are for.

    Memory Space: default (color=0)
    Total bytes: 322122547200 (300.00GiB)
      cumulative_size;       size;       offset; used_by_n_values; shapes_list
      ------------------------------------------------------------
      200.00GiB(100%);  200.00GiB;            0;                1; bf16[327680,327680]

Beside it lies the same as a message, `memory-usage-report.pb`: for each space (field 1) its bytes (1), color (2) and
allocations (3), each with its table as text (6).

Rows are places in an allocation; the values of one place never live together, and places of different rows need not
either, so that the total is what the program's memory takes and no peak.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import wire
from .prefixes import without_prefixes
from .shape import Shape, optional_shape

_SPACE = re.compile(r" *Memory Space: ([\w ]{1,40}) \(color=(\d{1,4})\)")
_TOTAL = re.compile(r" *Total bytes: (\d{1,18}) ")
_ROW = re.compile(
    r" *[\d.]{1,12}[KMGT]?i?B\( *\d{1,3}%\); *([\d.]{1,12})([KMGT]?)i?B; *\d{1,18}; *(\d{1,9}); *(\S.{0,4000}|)"
)
_ONE = re.compile(r"(?:(\d{1,9})×)?([a-z][a-z0-9]{0,15}\[[\d,<=?]{0,200}\](?:\{[^{}]{0,200}\})?)")
_TABLE = b"cumulative_size;"
_NAMES = {0: "default", 1: "vmem"}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True)
class Place:
    """One row: bytes as exact as printed, how many values use the place one after another, and the largest of them."""

    bytes: int
    values: int
    shape: Shape | None
    shapes: str


@dataclass(frozen=True, slots=True)
class SpaceUsage:
    """One memory space; `color` 0 is the device's main memory."""

    name: str
    color: int
    total_bytes: int
    places: tuple[Place, ...]


def usage_report(text: str) -> tuple[SpaceUsage, ...]:
    """The memory spaces of a report; empty for a text that is none, or is cut before a sum.

    A logger's prefix before each line is left out.
    """
    spaces: list[tuple[str, int, int, list[Place]]] = []
    for line in without_prefixes(text, "Memory Space: ").splitlines():
        if (match := _SPACE.match(line)) is not None:
            spaces.append((match[1], int(match[2]), 0, []))
        elif not spaces:
            continue
        elif (match := _TOTAL.match(line)) is not None:
            name, color, _, places = spaces[-1]
            spaces[-1] = name, color, int(match[1]), places
        elif (match := _ROW.fullmatch(line.rstrip())) is not None:
            spaces[-1][3].append(_place(match))
    return tuple(SpaceUsage(name, color, total, tuple(places)) for name, color, total, places in spaces if total)


def usage_report_proto(data: bytes) -> tuple[SpaceUsage, ...]:
    """The memory spaces of a report in the form of its message; empty for bytes that are none."""
    if _TABLE not in data:
        return ()
    try:
        return tuple(_space(data, *wire.span(entry)) for entry in wire.fields(data) if entry[0] == 1)
    except wire.WireError:
        return ()


def _space(data: bytes, start: int, end: int) -> SpaceUsage:
    total = color = 0
    places: list[Place] = []
    for entry in wire.fields(data, start, end):
        if entry[0] == 1:
            total = wire.number(entry)
        elif entry[0] == 2:
            color = wire.number(entry)
        elif entry[0] == 3:
            for part in wire.fields(data, *wire.span(entry)):
                if part[0] == 6:
                    rows = (_ROW.fullmatch(line.rstrip()) for line in wire.text(data, part).splitlines())
                    places += [_place(row) for row in rows if row is not None]
    return SpaceUsage(_NAMES.get(color, f"space {color}"), color, total, tuple(places))


def _place(row: re.Match[str]) -> Place:
    shapes = [shape for _, text in _ONE.findall(row[4]) if (shape := optional_shape(text)) is not None]
    largest = max(shapes, key=lambda shape: shape.padded_bytes, default=None)
    return Place(round(float(row[1]) * _UNITS[row[2]]), int(row[3]), largest, row[4])
