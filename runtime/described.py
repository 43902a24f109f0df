"""Values on devices that are only described: nothing can be put or computed there, and JAX says so in its own way.

A target that compiles for a described TPU or GPU lets `jax.devices()` answer with its devices. Code that makes an array
on one of them asks a compiler to hold it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..contracts.finding import Location
from ..contracts.manifest import Frame
from .request import StepFailure

MOST = 6
"""Frames of the user's that are named."""
# What jaxlib's compile-only client raises for a buffer, and what jax does with a program that it can only compile.
_SIGNS = (
    (("JaxRuntimeError", "XlaRuntimeError"), re.compile("compile-only client", re.IGNORECASE)),
    (("AttributeError",), re.compile(r"^'(?:Executable|CompileOnly\w+)' object has no attribute '\w+'$")),
)


def needs_a_real_device(error: BaseException, text: str) -> bool:
    """Whether an exception raised inside JAX says that a value was wanted on a device that is only described.

    `text` is its message.
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    return any(names & set(types) and sign.search(text) for types, sign in _SIGNS)


def no_real_device(doing: str, frames: Sequence[Frame], key: tuple[str, ...]) -> StepFailure:
    """The failure of such code, at the user's line. `doing` is what was being done: `my_pkg:build`, lowering a step."""
    callers = "".join(f"\n    called at {frame.path}:{frame.line} in {frame.function}" for frame in frames[1:MOST])
    place = Location(frames[0].path, frames[0].line, frames[0].column) if frames else None
    return StepFailure(
        f"{doing} makes a value on a device of the target, which is only described here: it can be compiled for, but "
        f"holds and computes nothing{callers}",
        place,
        "give the step shapes, not values: jax.eval_shape(init, ...), or jax.ShapeDtypeStruct(shape, dtype, "
        "sharding=...); compute what must be known while building on the host, below "
        'jax.default_device(jax.devices("cpu")[0])',
        key,
    )
