"""Without Python's cycle collector for as long as a large table is built.

The collector looks at every object that is alive each time the number of them has grown by a part. A program of 100 MB
is millions of small objects, all of them alive and none of them in a cycle: reading it spends most of its time there.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


LARGE = 50_000
"""New objects that are worth a word to the collector; going through fewer of them takes a moment."""


def uncollected(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, run with the collector off; it is on again afterwards if it was on before, errors included."""

    @wraps(function)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        if not gc.isenabled():
            return function(*args, **kwargs)
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            _settle()
            gc.enable()

    return run


def _settle() -> None:
    """Puts what is new among the oldest objects without looking at it: else the next collection begins with all of it.

    A program that keeps objects frozen is left alone, since it would lose that. Python counts the frozen ones by going
    through them all, so a small table must not ask.
    """
    if gc.get_count()[0] > LARGE and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
