"""Rows of a collective plan, and their sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..quantity import Quantity


@dataclass(frozen=True, slots=True)
class PlannedCollective:
    """Equal collectives the contract promises: `count` executions per step, of `elements` array elements in all.

    Counted per device and per step, loops multiplied; one execution moves `elements / count` elements: those of the
    array that is whole over the group (result of an all-gather, operand of the others). `axes` are in mesh order and
    have more than one device each. `dtype` is spelled as HLO spells it and is that of the *partitioned* program:
    backends may widen it. `formula` is `count; elements` in the words of the contract, `source` where the formula is
    published, `key` the contract key that causes the row, `what` the array.
    """

    kind: str
    axes: tuple[str, ...]
    count: int
    elements: int
    dtype: str
    term: str
    formula: str
    source: str
    key: str
    what: str = ""

    @property
    def each(self) -> int:
        """Elements of one execution."""
        return self.elements // self.count

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "axes": list(self.axes),
            "count": self.count,
            "elements": self.elements,
            "dtype": self.dtype,
            "term": self.term,
            "what": self.what,
            "formula": self.formula,
            "source": self.source,
            "key": self.key,
        }


@dataclass(frozen=True, slots=True)
class PlannedTotal:
    """All planned collectives of one kind over one set of axes."""

    kind: str
    axes: tuple[str, ...]
    count: int
    elements: int


@dataclass(frozen=True, slots=True)
class CollectivePlan:
    """Every collective that follows from a contract, in the order forward, backward, update."""

    rows: tuple[PlannedCollective, ...]

    def totals(self) -> list[PlannedTotal]:
        """Sums by kind and axes, sorted."""
        sums: dict[tuple[str, tuple[str, ...]], tuple[int, int]] = {}
        for row in self.rows:
            count, elements = sums.get((row.kind, row.axes), (0, 0))
            sums[row.kind, row.axes] = (count + row.count, elements + row.elements)
        return [PlannedTotal(kind, axes, *both) for (kind, axes), both in sorted(sums.items())]

    def as_json(self) -> list[dict[str, Any]]:
        return [row.as_json() for row in self.rows]


_HLO_DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "s64",
    "int32": "s32",
    "int8": "s8",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
}


def hlo_dtype(dtype: str) -> str:
    """`bfloat16` -> `bf16`: the HLO spelling of a numpy dtype name, itself where there is no other."""
    return _HLO_DTYPES.get(dtype, dtype)


def row(
    kind: str,
    axes: tuple[str, ...],
    repeats: Quantity,
    size: Quantity,
    *,
    dtype: str,
    term: str,
    source: str,
    key: str,
    what: str,
) -> PlannedCollective:
    """A row of `repeats` executions over arrays of `size` elements."""
    total = repeats * size
    formula = f"count {repeats.text}; elements {total.text}"
    return PlannedCollective(kind, axes, repeats.value, total.value, hlo_dtype(dtype), term, formula, source, key, what)


def joined(*groups: Iterable[PlannedCollective]) -> CollectivePlan:
    """One plan from the rows of several terms."""
    return CollectivePlan(tuple(one for group in groups for one in group))
