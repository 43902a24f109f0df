"""How a parameter starts, in words short enough for a line of a lock."""

from __future__ import annotations

import numpy as np

SHAPES = {"normal": 3.0, "truncated normal": 2.36, "uniform": 1.8}
"""Fourth moment over the square of the second, of what initialisers draw from; truncated at two standard deviations."""
NEAR = 0.3
"""How near to one of them counts."""


def described(array: np.ndarray) -> str:
    """`zeros`, `ones`, `constant 0.1`, `normal 0.088` or `uniform 0.5` (its standard deviation), else `drawn 0.05`.

    Two digits: a parameter of a few thousand numbers shows no more of what it was drawn from, and one of fewer not even
    from what: the fourth moment of n normal numbers is off by about sqrt(24 / n).
    """
    wide = array.astype(np.float64).ravel()
    if not wide.size:
        return "empty"
    if np.all(wide == wide[0]):
        return {0.0: "zeros", 1.0: "ones"}.get(float(wide[0]), f"constant {wide[0]:.6g}")
    centred = wide - wide.mean()
    variance = float(np.mean(np.square(centred)))
    shape = float(np.mean(centred**4)) / variance**2 if variance else 0.0
    kind = min(SHAPES, key=lambda name: abs(shape - SHAPES[name]))
    told = 3 * (24 / wide.size) ** 0.5 <= NEAR and abs(shape - SHAPES[kind]) <= NEAR
    around = f" around {wide.mean():.2g}" if abs(wide.mean()) > 5 * (variance / wide.size) ** 0.5 else ""
    return f"{kind if told else 'drawn'} {variance**0.5:.2g}{around}"
