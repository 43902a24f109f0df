"""Sharded against one device, by norms: never elementwise, never after a normalised update.

An elementwise bound is passed by no correct step (cancellation), and Adam turns a rounding error of 1e-10 into 1e-4.
The norm of a whole gradient differs from one device by no more than a few times what one device itself is off:

    ratio = norm2(g_sharded - g_64) / (4 norm2(g_one - g_64) + u norm2(g_64))

g_64: the same step in float64; g_one: on one device; u: unit roundoff of the compute dtype. Where there is no float64
twin, the error of one device is estimated by running it again on inputs moved by about u: that changes every rounding
after it (in the manner of Vignes' CESTAC method, Math. Comput. Simul. 35, 1993, 233-261):

    ratio = norm2(g_sharded - g_one) / (4 s + (8 u + 2 sqrt(n) v) norm2(g_one)),
    s = max_k norm2(g_one(x (1 + 2 u e_k)) - g_one(x))

Moved inputs do not change the order of a sum, which a mesh does. A sum of n terms in an arithmetic of unit roundoff v
is off by about sqrt(n) v times the sum of their sizes, where rounding errors are independent of mean zero (Higham &
Mary, SIAM J. Sci. Comput. 41, 2019, A2815-A2835; the bound without probability has n in the place of sqrt(n)). Both
orders are off by that much. n and v are those of the longest sum behind a loss or metric on one device, and of the sum
that a gradient itself is: of each element of a bias's gradient that is the same sum, so that the norm averages nothing.
Of the sums that its terms are made of it does, and s shows as much.

Independent errors of mean zero they are no more where n v >= 1: a partial sum of n terms of one sign and size then
stands still, because each further term is rounded away. In less than float32 that takes few terms (256 in bfloat16);
such a sum has no bound, may be off by all of its size, and is not judged. Float32 needs 16 million, and XLA adds it up
in a tree.

A value of few elements can be right by luck on one device, so there the larger of both estimates stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...contracts.manifest import NOT_FINITE_EITHER, Comparison

Role = Literal["loss", "metric", "gradient", "first_moment"]

FEW = 64
"""Up to so many elements, one run's error is no dependable estimate."""
MARGIN, SLACK = 4.0, 8.0
SINGLE = 2.0**-24
"""Unit roundoff of float32."""
DOUBLE = 2.0**-53
"""Unit roundoff of float64. A step that computes in it is its own twin, and their difference measures no rounding."""


@dataclass(frozen=True, slots=True)
class Runs:
    """One value as each run computed it. `twin` is None where no float64 run can be trusted; `moved` may be empty."""

    sharded: np.ndarray
    one: np.ndarray
    twin: np.ndarray | None
    moved: Sequence[np.ndarray]


@dataclass(frozen=True, slots=True)
class LongestSum:
    """`terms` added up in an arithmetic of unit roundoff `roundoff`. One term is no sum."""

    terms: int = 1
    roundoff: float = 0.0

    @property
    def stands_still(self) -> bool:
        """Whether a partial sum may grow so large that a further term no longer changes it."""
        return self.roundoff > SINGLE and self.terms * self.roundoff >= 1

    @property
    def error(self) -> float:
        """How far two orders of the sum lie apart, relative to the sum of the sizes of its terms."""
        return 2 * math.sqrt(self.terms) * self.roundoff if self.terms > 1 else 0.0


ONE_TERM = LongestSum()


def norm2(array: np.ndarray) -> float:
    """The 2-norm over all elements, in float64."""
    flat = np.asarray(array, np.float64).ravel()
    peak = float(np.max(np.abs(flat))) if flat.size else 0.0
    if peak == 0.0 or not math.isfinite(peak):
        return peak
    return peak * math.sqrt(float(np.dot(flat / peak, flat / peak)))


def judge(role: Role, path: str, runs: Runs, roundoff: float, longest: LongestSum = ONE_TERM) -> Comparison | str:
    """The comparison of one value, or the reason why it cannot be judged.

    `roundoff` is that of the compute dtype, `longest` the longest sum behind it. Without finite values on
    one device there is nothing to compare with; where only the sharded value is not finite, `ratio` is None and the
    value is wrong.
    """
    if roundoff_of(runs.one.dtype) and max(roundoff, roundoff_of(runs.one.dtype)) <= DOUBLE:
        runs = replace(runs, twin=None)
    reference = runs.one if runs.twin is None else runs.twin
    if runs.sharded.shape != reference.shape:
        return f"its shape is {list(runs.sharded.shape)} on the mesh and {list(reference.shape)} on one device"
    if reference.size == 0:
        return "it has no elements"
    if not roundoff_of(runs.one.dtype):
        return _exact(role, path, runs)
    finite = all(np.isfinite(a.astype(np.float64)).all() for a in (runs.one, reference, *runs.moved))
    if not finite:
        return NOT_FINITE_EITHER
    if runs.twin is None and longest.stands_still:
        return (
            f"each element is a sum of {longest.terms:,} terms, rounded after each to a unit of "
            f"{_power(longest.roundoff)}; it may stand still after {round(1 / longest.roundoff):,} and has no bound: "
            "sum in float32, or have the step compared in float32 (`reference_args` of the step in the contract, such "
            "as { compute: float32 })"
        )
    roundoff = max(roundoff, roundoff_of(runs.sharded.dtype))
    size = norm2(reference)
    moved = max((norm2(_difference(m, runs.one)) for m in runs.moved), default=0.0)
    few = reference.size <= FEW
    u = _power(roundoff)
    if runs.twin is None:
        noise, slack, reordered = moved, SLACK, longest.error
        method = f"one device moved by u = {u}: |sharded - one| <= 4 s + 8 u |one|"
        if reordered:
            sums = f"n = {longest.terms:,}, v = {_power(longest.roundoff)}"
            method = f"one device moved by u = {u}: |sharded - one| <= 4 s + (8 u + 2 sqrt(n) v) |one|, {sums}"
    else:
        noise = norm2(_difference(runs.one, runs.twin))
        slack, reordered = 1.0, 0.0
        method = f"float64 twin: |sharded - f64| <= 4 |one - f64| + u |f64|, u = {u}"
        if few:
            noise, slack = max(noise, moved), SLACK
            method = f"float64 twin, few elements: |sharded - f64| <= 4 max(|one - f64|, s) + 8 u |f64|, u = {u}"
    bound = MARGIN * noise + (slack * roundoff + reordered) * size
    floor = bound / size if size else None
    if floor is not None and floor > 0.5:
        return f"it is rounding noise: the bound is {floor:.2g} times its norm"
    error = norm2(_difference(runs.sharded, reference))
    ratio = None
    if math.isfinite(error):
        ratio = error / bound if bound else 0.0 if error == 0 else error / np.finfo(np.float64).tiny
        ratio = min(ratio, np.finfo(np.float32).max.item())
    scalar = reference.size == 1
    return Comparison(
        role=role,
        path=path,
        ratio=_rounded(ratio),
        error=_rounded(error if math.isfinite(error) else None),
        bound=_rounded(bound),
        floor=_rounded(floor),
        method=method,
        sharded=_scalar(runs.sharded) if scalar else None,
        reference=_scalar(reference) if scalar else None,
    )


def roundoff_of(dtype: np.dtype) -> float:
    """Half the distance from 1 to the next number: 2^-24 for float32, 2^-8 for bfloat16, 0 for integers."""
    import ml_dtypes

    try:
        return float(ml_dtypes.finfo(dtype).eps) / 2
    except ValueError:
        return 0.0


def _exact(role: Role, path: str, runs: Runs) -> Comparison:
    error = norm2(_difference(runs.sharded, runs.one))
    scalar = runs.one.size == 1
    return Comparison(
        role=role,
        path=path,
        ratio=error / 0.1,
        error=error,
        bound=0.1,
        floor=None,
        method="integers: equal",
        sharded=_scalar(runs.sharded) if scalar else None,
        reference=_scalar(runs.one) if scalar else None,
    )


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return a.astype(np.float64) - b.astype(np.float64)


def _scalar(array: np.ndarray) -> float | None:
    value = float(array.astype(np.float64).reshape(()))
    return value if math.isfinite(value) else None


def _rounded(value: float | None) -> float | None:
    """Six digits: what a report shows, and no more than a second run would give."""
    return None if value is None else float(f"{value:.6g}")


def _power(roundoff: float) -> str:
    return f"2^{round(math.log2(roundoff))}" if roundoff else "0"
