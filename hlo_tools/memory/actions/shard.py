"""Split what every device holds whole: parameters or optimizer slots over the devices that hold the same elements."""

from __future__ import annotations

from collections.abc import Iterator

from ...attribution import gradient_shapes, unordered
from ...shape import parse_shape
from ..action import Action
from ..lives import Argument, Life, Lives
from .weigh import weighed

_NAMES = {"parameter": "parameters", "optimizer_slot": "optimizer slots"}
_HOW = {"parameter": "FSDP", "optimizer_slot": "ZeRO-1"}


def actions(lives: Lives) -> Iterator[Action]:
    """For parameters and for optimizer slots, all that are on several devices together."""
    for class_, named in _NAMES.items():
        copied = [a for a in lives.arguments if a.class_ == class_ and a.copies > 1 and _divides(a)]
        if not copied:
            continue
        copies = {_path(argument): argument.copies for argument in copied}
        most = max(copies.values())
        shares = {id(life): copies[scope] for life, scope in _placed(lives, class_) if scope in copies}
        # The update adds gradients to slots: what splits one side splits the other. Those that are not yet summed over
        # the devices that an argument is split over already are as large as before.
        parts = set(gradient_shapes(_local(argument) for argument in lives.arguments if argument.class_ == "parameter"))
        gradients = [life for life in lives.of("gradient") if _dims(life) in parts]
        shares |= {id(life): most for life in gradients if shares}
        text = f"split the {named} over the {most} devices that hold the same ones ({_HOW[class_]})"
        yield weighed(
            lives,
            "shard",
            named,
            text,
            [life for life in lives.all if id(life) in shares],
            lambda life, shares=shares: -(-life.bytes // shares[id(life)]),
        )


def _placed(lives: Lives, class_: str) -> Iterator[tuple[Life, str]]:
    return ((life, life.buffer.scope) for life in lives.of(class_) if life.buffer is not None)


def _divides(argument: Argument) -> bool:
    """Whether some dimension of the shard can be split evenly over the devices that hold it."""
    return any(size % argument.copies == 0 for size in _local(argument))


def _local(argument: Argument) -> tuple[int, ...]:
    return tuple(argument.leaf.local_shape if argument.leaf.local_shape is not None else argument.leaf.shape)


def _dims(life: Life) -> tuple[int, ...]:
    """The dimensions of its array, as `gradient_shapes` writes them."""
    text = life.buffer.shape if life.buffer is not None else ""
    return unordered(parse_shape(text).dims) if text else ()


def _path(argument: Argument) -> str:
    return "/".join(part for part in (argument.leaf.argument, argument.leaf.path) if part)
