"""Promises that name the build argument by which they are kept: `accumulation.arg`, `arg` of a clip, `rng.root.arg`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .key import Key


@dataclass(frozen=True, slots=True)
class PromisedArgument:
    """`key` promises `value`, and the build argument `argument` sets it."""

    key: Key
    argument: str
    value: int | float


def promised_arguments(data: Mapping[str, Any]) -> list[PromisedArgument]:
    """Those of a contract as it is written, where both the value and the argument's name stand there."""
    return [
        PromisedArgument((*section, name), said["arg"], said[name])
        for section, said, name in _sections(data)
        if isinstance(said, Mapping) and isinstance(said.get("arg"), str) and _is_number(said.get(name))
    ]


def _sections(data: Mapping[str, Any]) -> Iterator[tuple[Key, Any, str]]:
    """Each section that may have `arg`, and the key beside it that promises the value."""
    yield ("accumulation",), data.get("accumulation"), "microbatches"
    optimizer, rng = data.get("optimizer"), data.get("rng")
    chain = optimizer.get("chain") if isinstance(optimizer, Mapping) else None
    for index, transform in enumerate(chain if isinstance(chain, list) else ()):
        yield ("optimizer", "chain", index), transform, "max_norm"
    yield ("rng", "root"), rng.get("root") if isinstance(rng, Mapping) else None, "seed"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
