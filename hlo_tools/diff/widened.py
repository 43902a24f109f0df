"""Types a compiler changes by itself: narrow floats of CPU programs become f32, and none of their lines tells why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ..backend import backend_of
from .census import Census
from .change import Change

_NARROW = re.compile(r"\b(?:bf16|f16|f8\w*|f4\w*)\[")
WHY = "the CPU compiler computes bf16 and other narrow floats in f32 by itself"
NOTE = f"who asked for a type is not known: {WHY}"
HELP = "compare captures, whose partitioned programs tell, or texts from before the optimisation"


def by_compiler(made: Census) -> bool:
    """Whether types of this program may be the compiler's: it is compiled for CPUs and holds narrow floats."""
    module = made.module
    shapes = (*made.sizes, *(parameter.shape.text for parameter in module.entry.parameters))
    return module.is_scheduled and any(map(_NARROW.search, shapes)) and backend_of(module) == "cpu"


def as_asked(asked: Iterable[Change], found: Iterable[Change]) -> list[Change]:
    """The changes, those of types as the partitioned program has them."""
    types = [replace(change, root=change.weight > 0, follows=None) for change in asked if change.kind == "dtype"]
    return [*(change for change in found if change.kind != "dtype"), *types]
