"""What a step's `example(i)` gives, held to the one shape it may have: `(args, kwargs)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...contracts.finding import Location
from ...contracts.manifest import Frame
from ..frames import FramePaths
from ..request import StepFailure
from ..step import NormalisedStep

SHOWN = 6


def example_of(step: NormalisedStep, index: int, paths: FramePaths) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of loop step `index` as the user's `example` gives them.

    Raises StepFailure, at the function, that says what came back, what was expected and how to write it.
    """
    assert step.example is not None
    return arguments_in(step, step.example(index), f"example({index})", paths.of_function(step.example))


def arguments_in(
    step: NormalisedStep, given: Any, named: str, frame: Frame | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a function `named` so, defined at `frame`, gave as arguments of the step. Raises StepFailure as above."""
    pair = isinstance(given, tuple | list) and len(given) == 2
    if not pair or not isinstance(given[0], tuple | list) or not isinstance(given[1], Mapping):
        raise _misfit(step, frame, f"{named} returned {described(given)}")
    args, kwargs = tuple(given[0]), dict(given[1])
    if len(args) != len(step.args):
        count = f"{len(args)} positional argument{'s' * (len(args) != 1)}"
        takes = f"the step takes {len(step.args)}: {', '.join(step.positional_names) or 'none'}"
        raise _misfit(step, frame, f"{named} returned {count}, {takes}")
    if unknown := [str(name) for name in kwargs if name not in step.argument_names]:
        takes = f"the step takes {', '.join(step.argument_names) or 'no arguments'}"
        raise _misfit(step, frame, f"{named} returned the keyword `{unknown[0]}`, {takes}")
    return args, kwargs


def _misfit(step: NormalisedStep, frame: Frame | None, found: str) -> StepFailure:
    return StepFailure(
        f"{found}; expected (args, kwargs), a tuple with one entry for each positional argument and a mapping",
        Location(frame.path, frame.line, frame.column) if frame is not None else None,
        help=f"for this step: return {_written(step)}",
    )


def _written(step: NormalisedStep) -> str:
    """`(state, batch), {"lr": lr}`: what to return, in the step's own names."""
    names = step.positional_names
    keywords = ", ".join(f'"{name}": {name}' for name in step.kwargs)
    return f"({', '.join(names)}{',' * (len(names) == 1)}), {{{keywords}}}"


def described(given: Any) -> str:
    """`a tuple of 2: dict, dict`; `a dict`; `None`."""
    if given is None:
        return "None"
    if not isinstance(given, tuple | list):
        return f"a value of type {type(given).__name__}"
    inside = [type(each).__name__ for each in given[:SHOWN]] + ["..."] * (len(given) > SHOWN)
    return f"a {type(given).__name__} of {len(given)}" + (f" ({', '.join(inside)})" if inside else "")
