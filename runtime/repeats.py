"""Blocks of equations that stand unrolled in a jaxpr: four layers written out where one scan would do.

Equations become tokens (primitive, static parameters, operand and result types; nested jaxprs by their own tokens). A
run of equal tokens at distance p means consecutive copies of a block of p equations. Such a run counts as an unrolled
layer only if the block holds a contraction and each copy feeds the next: the query, key and value products of one
layer, or an optimizer's update of equal parameters, stand side by side and are no loop.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..contracts.manifest import Frame, RepeatFact

_CONTRACTIONS = {"dot_general", "conv_general_dilated", "ragged_dot", "ragged_dot_general", "pallas_call"}
# Where a block is cut out of a stacked array differs from copy to copy.
_POSITIONAL_PARAMETERS = {("slice", "start_indices"), ("slice", "limit_indices")}
MAX_PERIODS = 512
"""Candidate block lengths tried per jaxpr, most frequent first: keeps the search linear in the jaxpr's length."""
SHARED_SHARE = 0.8
"""Share of a block's equations that come through the line that is named for it, at least."""


class _Tokens:
    """Structural hashes of equations and jaxprs, each made once."""

    def __init__(self) -> None:
        self._of_jaxpr: dict[int, tuple[Any, str]] = {}
        self._weight: dict[int, tuple[int, bool]] = {}

    def jaxpr(self, jaxpr: Any) -> str:
        known = self._of_jaxpr.get(id(jaxpr))
        if known is None:
            text = "|".join([*(_type(v) for v in jaxpr.invars), *(self.equation(e) for e in jaxpr.eqns)])
            known = jaxpr, hashlib.sha256(text.encode()).hexdigest()[:24]
            self._of_jaxpr[id(jaxpr)] = known
        return known[1]

    def equation(self, equation: Any) -> str:
        name = equation.primitive.name
        parts = [name]
        for key in sorted(equation.params):
            if (name, key) not in _POSITIONAL_PARAMETERS:
                parts.append(f"{key}={self.parameter(equation.params[key])}")
        parts += [_type(v) for v in (*equation.invars, *equation.outvars)]
        return ";".join(parts)

    def parameter(self, value: Any) -> str:
        inner = getattr(value, "jaxpr", value)
        if hasattr(inner, "eqns"):
            return self.jaxpr(inner)
        if isinstance(value, (tuple, list)):
            return "(" + ",".join(self.parameter(item) for item in value) + ")"
        if isinstance(value, (bool, int, float, np.dtype, np.generic)):
            return str(value)
        return type(value).__name__

    def weight(self, equation: Any) -> tuple[int, bool]:
        """Equations an equation stands for with everything it calls, and whether a contraction is among them."""
        total, heavy = 1, equation.primitive.name in _CONTRACTIONS
        for value in equation.params.values():
            for item in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(item, "jaxpr", item)
                if hasattr(inner, "eqns"):
                    known = self._weight.get(id(inner))
                    if known is None:
                        weights = [self.weight(e) for e in inner.eqns]
                        known = sum(w for w, _ in weights), any(h for _, h in weights)
                        self._weight[id(inner)] = known
                    total, heavy = total + known[0], heavy or known[1]
        return total, heavy


def find_repeats(
    jaxprs: Iterable[Any], frames: Callable[[Any], list[Frame]], in_loop: Callable[[Frame], bool] = lambda _: False
) -> list[RepeatFact]:
    """Unrolled blocks of every jaxpr given, in order; `frames` names an equation's place in the source, `in_loop` says
    whether a line stands in a Python loop."""
    tokens = _Tokens()
    return [fact for jaxpr in jaxprs for fact in _repeats_of(jaxpr, tokens, frames, in_loop)]


def _repeats_of(
    jaxpr: Any, tokens: _Tokens, frames: Callable[[Any], list[Frame]], in_loop: Callable[[Frame], bool]
) -> list[RepeatFact]:
    equations = list(jaxpr.eqns)
    weights = [tokens.weight(e) for e in equations]
    if sum(heavy for _, heavy in weights) < 2:
        return []
    numbers: dict[str, int] = {}
    line = np.array([numbers.setdefault(tokens.equation(e), len(numbers)) for e in equations])
    runs = sorted(_runs(line), key=lambda run: (-(run[2] * run[1]), run[1]))
    taken = np.zeros(len(line), dtype=bool)
    found: list[tuple[int, int, int, int]] = []
    for start, period, copies in runs:
        block = weights[start : start + period]
        size = sum(w for w, _ in block)
        if taken[start : start + period * copies].any() or size < 2 or not any(heavy for _, heavy in block):
            continue
        copies = _chained(equations, start, period, copies)
        if copies < 2:
            continue
        taken[start : start + period * copies] = True
        found.append((start, period, copies, size))
    return [
        RepeatFact(
            copies=copies, equations=size, frames=_place(list(map(frames, equations[start : start + period])), in_loop)
        )
        for start, period, copies, size in sorted(found)
    ]


def _place(block: list[list[Frame]], in_loop: Callable[[Frame], bool]) -> list[Frame]:
    """Where a block is repeated, as a stack, innermost frame first.

    It is the innermost line in a Python loop that the block's equations come through; without a loop (layers written
    out by hand), the innermost line they share. A run may begin with what ends a copy elsewhere (a cast after the
    embedding, say), so not quite all of them need to.
    """
    stacks = [stack[::-1] for stack in block if stack]
    shared: list[Frame] = []
    while inner := [stack[len(shared)] for stack in stacks if len(stack) > len(shared)]:
        spot, count = Counter(map(_spot, inner)).most_common(1)[0]
        if shared and count < SHARED_SHARE * len(block):
            break
        shared.append(next(frame for frame in inner if _spot(frame) == spot))
        stacks = [s for s in stacks if len(s) >= len(shared) and _spot(s[len(shared) - 1]) == spot]
    depth = next((depth for depth in range(len(shared), 0, -1) if in_loop(shared[depth - 1])), len(shared))
    return shared[:depth][::-1]


def _spot(frame: Frame) -> tuple[str, int]:
    return frame.path, frame.line


def _runs(line: np.ndarray) -> Iterable[tuple[int, int, int]]:
    """(start, period, copies) of every maximal run of at least two equal consecutive blocks."""
    last: dict[int, int] = {}
    periods = Counter[int]()
    for index, token in enumerate(line.tolist()):
        if token in last:
            periods[index - last[token]] += 1
        last[token] = index
    for period, _ in periods.most_common(MAX_PERIODS):
        equal = np.concatenate(([False], line[:-period] == line[period:], [False])).astype(np.int8)
        edges = np.flatnonzero(np.diff(equal))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            copies = (end - begin) // period + 1
            if copies >= 2:
                yield begin, period, copies


def _chained(equations: list[Any], start: int, period: int, copies: int) -> int:
    """How many leading copies form a chain in which each uses a result of the one before."""
    made: set[int] = set()
    for copy in range(copies):
        block = equations[start + copy * period : start + (copy + 1) * period]
        if copy and not any(id(v) in made for e in block for v in e.invars):
            return copy
        made = {id(v) for e in block for v in e.outvars}
    return copies


def _type(variable: Any) -> str:
    aval = variable.aval
    return f"{getattr(aval, 'dtype', type(aval).__name__)}{getattr(aval, 'shape', '')}"
