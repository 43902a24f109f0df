"""A squarified treemap (Bruls, Huizing and van Wijk 2000): areas by weight, rectangles near to squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def inset(self, by: float, top: float) -> Box:
        """What is left inside a border, with more of it at the top; nothing where there is no room."""
        return Box(self.x + by, self.y + top, max(0.0, self.width - 2 * by), max(0.0, self.height - by - top))


def squarified(weights: Sequence[float], box: Box) -> list[Box]:
    """One rectangle for each weight, in their order, that fill `box`; weights are positive and fall."""
    total = sum(weights)
    if not weights or total <= 0 or box.width <= 0 or box.height <= 0:
        return [Box(box.x, box.y, 0.0, 0.0) for _ in weights]
    scale = box.width * box.height / total
    placed: list[Box] = []
    at = 0
    while at < len(weights):
        side = min(box.width, box.height)
        end = at + 1
        area = weights[at] * scale
        while end < len(weights):
            more = area + weights[end] * scale
            if _worst(weights[at] * scale, weights[end] * scale, more, side) > _worst(
                weights[at] * scale, weights[end - 1] * scale, area, side
            ):
                break
            area, end = more, end + 1
        row, box = _row([weight * scale for weight in weights[at:end]], area, box)
        placed += row
        at = end
    return placed


def _worst(largest: float, smallest: float, area: float, side: float) -> float:
    """The longest aspect ratio in a row of rectangles along a side."""
    if not area or not smallest or not side:
        return float("inf")
    return max(side * side * largest / (area * area), area * area / (side * side * smallest))


def _row(areas: Sequence[float], area: float, box: Box) -> tuple[list[Box], Box]:
    """The rectangles of one row along the shorter side of `box`, and what is left of it."""
    made: list[Box] = []
    if box.width >= box.height:
        thick = area / box.height if box.height else 0.0
        y = box.y
        for each in areas:
            height = each / thick if thick else 0.0
            made.append(Box(box.x, y, thick, height))
            y += height
        return made, Box(box.x + thick, box.y, max(0.0, box.width - thick), box.height)
    thick = area / box.width if box.width else 0.0
    x = box.x
    for each in areas:
        width = each / thick if thick else 0.0
        made.append(Box(x, box.y, width, thick))
        x += width
    return made, Box(box.x, box.y + thick, box.width, max(0.0, box.height - thick))
