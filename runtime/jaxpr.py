"""What a traced program holds, whatever the compiler: callbacks, constants, loops, products, remat, collectives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..contracts.manifest import (
    AxisUseFact,
    CallbackFact,
    ConstantFact,
    DotFact,
    Frame,
    JaxprFacts,
    LoopFact,
    RematFact,
)
from .frames import FramePaths
from .repeats import find_repeats

CALLBACKS = {"infeed", "outfeed", "outside_call", "debug_print"}
LOOPS = {"scan", "while"}
REMATS = {"remat2", "remat", "checkpoint"}
CONTRACTIONS = {"dot_general", "conv_general_dilated", "ragged_dot", "ragged_dot_general"}
COLLECTIVES = {
    "psum",
    "psum2",
    "psum_invariant",
    "pmax",
    "pmin",
    "all_gather",
    "all_gather_invariant",
    "reduce_scatter",
    "ppermute",
    "pbroadcast",
    "all_to_all",
    "ragged_all_to_all",
}
PLACEMENTS = {"sharding_constraint", "reshard", "mesh_cast"}


def open_jaxpr(jaxpr: Any) -> Any:
    """The jaxpr inside a closed one; newer JAX has only one class, which answers `.jaxpr` too."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def needed(jaxpr: Any) -> Any:
    """A jaxpr without what none of its outputs depends on."""
    from jax.interpreters import partial_eval

    opened = open_jaxpr(jaxpr)
    return partial_eval.dce_jaxpr(opened, [True] * len(opened.outvars))[0]


def subjaxprs(equation: Any) -> Iterator[Any]:
    """The jaxprs among an equation's parameters, opened."""
    for value in equation.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            inner = open_jaxpr(item)
            if hasattr(inner, "eqns") and hasattr(inner, "invars"):
                yield inner


def is_callback(name: str) -> bool:
    return "callback" in name or name in CALLBACKS


class _Collector:
    """One walk over every distinct (jaxpr, loop depth); counts are made once per jaxpr and multiplied by its uses."""

    def __init__(self, paths: FramePaths) -> None:
        self.paths = paths
        self.callbacks: list[CallbackFact] = []
        self.loops: list[LoopFact] = []
        self.remats: list[RematFact] = []
        self.axis_uses: list[AxisUseFact] = []
        self.dynamic: list[Frame] = []
        self.distinct: dict[int, Any] = {}
        self._dot_frames: dict[tuple[str, str, str], list[Frame]] = {}
        self._counts: dict[int, tuple[int, dict[tuple[str, str, str], int]]] = {}

    def frames(self, equation: Any) -> list[Frame]:
        """The user's frames; those of the first equation inside where JAX made a loop or call without any."""
        for _ in range(64):
            found = self.paths.of_equation(equation.source_info)
            if found:
                return found
            inner = next((e for sub in subjaxprs(equation) for e in sub.eqns), None)
            if inner is None:
                return []
            equation = inner
        return []

    def walk(self, top: Any) -> None:
        pending = [(top, 0)]
        seen: set[tuple[int, int]] = set()
        while pending:
            jaxpr, depth = pending.pop()
            if (id(jaxpr), depth) in seen:
                continue
            seen.add((id(jaxpr), depth))
            first = id(jaxpr) not in self.distinct
            self.distinct[id(jaxpr)] = jaxpr
            inner: list[tuple[Any, int]] = []
            for equation in jaxpr.eqns:
                self.visit(equation, depth, first)
                below = depth + (equation.primitive.name in LOOPS)
                inner.extend((sub, below) for sub in subjaxprs(equation))
            pending.extend(reversed(inner))

    def visit(self, equation: Any, depth: int, first: bool) -> None:
        name = equation.primitive.name
        if is_callback(name):
            self.callbacks.append(CallbackFact(primitive=name, loop_depth=depth, frames=self.frames(equation)))
        elif name in LOOPS:
            length = equation.params.get("length")
            self.loops.append(
                LoopFact(
                    primitive=name,
                    length=int(length) if isinstance(length, (int, np.integer)) else None,
                    depth=depth,
                    frames=self.frames(equation),
                )
            )
        elif name in REMATS:
            policy = equation.params.get("policy")
            self.remats.append(RematFact(policy=_policy_name(policy), loop_depth=depth, frames=self.frames(equation)))
        elif first and (name in COLLECTIVES or name in PLACEMENTS):
            self.axis_use(equation, name)
        elif first and name in CONTRACTIONS:
            self._dot_frames.setdefault(_dot_dtypes(equation), self.frames(equation))
        if first and any(not _is_static(v.aval) for v in equation.outvars):
            self.dynamic.extend(self.frames(equation)[:1])

    def axis_use(self, equation: Any, name: str) -> None:
        aval = equation.invars[0].aval
        self.axis_uses.append(
            AxisUseFact(
                primitive=name,
                axes=_axes(equation),
                shape=[int(n) if isinstance(n, (int, np.integer)) else -1 for n in getattr(aval, "shape", ())],
                dtype=str(getattr(aval, "dtype", "")),
                frames=self.frames(equation),
            )
        )

    def counts(self, jaxpr: Any) -> tuple[int, dict[tuple[str, str, str], int]]:
        """Equations and matrix products of a jaxpr with everything it calls, each call counted."""
        known = self._counts.get(id(jaxpr))
        if known is not None:
            return known
        total, dots = 0, dict[tuple[str, str, str], int]()
        for equation in jaxpr.eqns:
            total += 1
            if equation.primitive.name in CONTRACTIONS:
                dtypes = _dot_dtypes(equation)
                dots[dtypes] = dots.get(dtypes, 0) + 1
            for sub in subjaxprs(equation):
                inner_total, inner_dots = self.counts(sub)
                total += inner_total
                for dtypes, count in inner_dots.items():
                    dots[dtypes] = dots.get(dtypes, 0) + count
        self._counts[id(jaxpr)] = total, dots
        return total, dots

    def dots(self, top: Any) -> list[DotFact]:
        return [
            DotFact(lhs=lhs, rhs=rhs, out=out, count=count, frames=self._dot_frames.get((lhs, rhs, out), []))
            for (lhs, rhs, out), count in self.counts(top)[1].items()
        ]


def collect(closed: Any, paths: FramePaths) -> JaxprFacts:
    """The facts of a traced program (`Traced.jaxpr`)."""
    top = open_jaxpr(closed)
    collector = _Collector(paths)
    collector.walk(top)
    inputs_static = all(_is_static(v.aval) for v in top.invars)
    return JaxprFacts(
        equations=collector.counts(top)[0],
        callbacks=collector.callbacks,
        constants=_constants(closed, collector),
        loops=collector.loops,
        repeats=find_repeats(collector.distinct.values(), collector.frames, paths.in_loop),
        dots=collector.dots(top),
        remats=collector.remats,
        axis_uses=collector.axis_uses,
        dynamic_shapes=_unique(collector.dynamic)
        if inputs_static
        else _unique(collector.dynamic) or [Frame(path="", line=1)],
    )


def _constants(closed: Any, collector: _Collector) -> list[ConstantFact]:
    """Arrays closed over by the program, largest first: of the program itself and of every jaxpr that kept its own."""
    found: list[tuple[int, ConstantFact]] = []
    seen: set[int] = set()

    def add(jaxpr: Any, values: Any) -> None:
        for variable, value in zip(open_jaxpr(jaxpr).constvars, values, strict=False):
            shape: tuple[int, ...] = tuple(getattr(value, "shape", ()))
            if id(value) in seen or not shape:
                continue
            seen.add(id(value))
            dtype = getattr(value, "dtype", None)
            itemsize = np.dtype(dtype).itemsize if isinstance(dtype, np.dtype) else 4
            fact = ConstantFact(
                shape=[int(n) for n in shape],
                dtype=str(dtype),
                bytes=math.prod(shape) * itemsize,
                frames=_first_use(open_jaxpr(jaxpr), variable, collector),
            )
            found.append((len(found), fact))

    add(closed, getattr(closed, "consts", ()))
    for jaxpr in list(collector.distinct.values()):
        for equation in jaxpr.eqns:
            for value in equation.params.values():
                for item in value if isinstance(value, (tuple, list)) else (value,):
                    consts: Any = getattr(item, "consts", None)
                    if consts and hasattr(open_jaxpr(item), "eqns"):
                        add(item, consts)
    for jaxpr in collector.distinct.values():
        for equation in jaxpr.eqns:
            for operand in equation.invars:
                value = getattr(operand, "val", None)
                if value is not None and getattr(value, "shape", ()) and id(value) not in seen:
                    seen.add(id(value))
                    size = math.prod(value.shape) * np.dtype(value.dtype).itemsize
                    fact = ConstantFact(
                        shape=list(value.shape), dtype=str(value.dtype), bytes=size, frames=collector.frames(equation)
                    )
                    found.append((len(found), fact))
    return [fact for _, fact in sorted(found, key=lambda pair: (-pair[1].bytes, pair[0]))]


def _first_use(jaxpr: Any, variable: Any, collector: _Collector) -> list[Frame]:
    """Frames of the first equation that computes with a variable, followed into calls and loops."""
    best: list[Frame] = []
    for _ in range(256):
        equation = next((e for e in jaxpr.eqns if any(v is variable for v in e.invars)), None)
        if equation is None:
            return best
        best = collector.frames(equation) or best
        position = next(i for i, v in enumerate(equation.invars) if v is variable)
        inner = _inner_variable(equation, position)
        if inner is None:
            return best
        jaxpr, variable = inner
    return best


def _inner_variable(equation: Any, position: int) -> tuple[Any, Any] | None:
    """The jaxpr and variable that an operand becomes inside a call, scan or while."""
    params = equation.params
    if equation.primitive.name == "while":
        conditions, bodies = params["cond_nconsts"], params["body_nconsts"]
        if position < conditions:
            jaxpr = open_jaxpr(params["cond_jaxpr"])
            return jaxpr, jaxpr.invars[position]
        jaxpr = open_jaxpr(params["body_jaxpr"])
        return (
            (jaxpr, jaxpr.invars[position - conditions])
            if position - conditions < len(jaxpr.invars) and bodies >= 0
            else None
        )
    inner = list(subjaxprs(equation))
    if equation.primitive.name == "cond":
        position -= 1
        using = [j for j in inner if position >= 0 and any(j.invars[position] is v for e in j.eqns for v in e.invars)]
        return (using[0], using[0].invars[position]) if using else None
    if inner and len(inner[0].invars) == len(equation.invars):
        return inner[0], inner[0].invars[position]
    return None


def _dot_dtypes(equation: Any) -> tuple[str, str, str]:
    lhs, rhs = (str(v.aval.dtype) for v in equation.invars[:2])
    return lhs, rhs, str(equation.outvars[0].aval.dtype)


def _axes(equation: Any) -> list[str]:
    """Mesh axis names of a user collective or placement."""
    params = equation.params
    sharding = params.get("sharding", params.get("dst_sharding"))
    spec = getattr(sharding, "spec", None)
    names = spec if spec is not None else params.get("axes", params.get("axis_name", ()))
    flat: list[str] = []
    for entry in names if isinstance(names, (tuple, list)) or spec is not None else (names,):
        for name in entry if isinstance(entry, (tuple, list)) else (entry,):
            if isinstance(name, str):
                flat.append(name)
    return flat


def _policy_name(policy: Any) -> str | None:
    if policy is None:
        return None
    name = getattr(policy, "__qualname__", None) or getattr(getattr(policy, "func", None), "__qualname__", None)
    return (name or type(policy).__name__).split(".<locals>")[0]


def _is_static(aval: Any) -> bool:
    return all(isinstance(n, (int, np.integer)) for n in getattr(aval, "shape", ()))


def _unique(frames: list[Frame]) -> list[Frame]:
    return list(dict.fromkeys(frames))
