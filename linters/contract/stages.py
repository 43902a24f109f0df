"""The fields of a batch and of the stages that make it, as rules read them: what is not usable is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from ...contracts.key import Key
from ...contracts.model import ROLE_NAMES
from ...contracts.model.data_fields import StageKind
from .view import View, is_number

FOR_EACH_TOKEN = ("tokens", "targets", "segment_ids", "positions", "loss_mask", "loss_weights")
"""Roles of arrays that have one element for each token."""

THE_BATCH = "the batch"
UNKNOWN = "?"
"""A role that is none: it may have been meant to be any."""


@dataclass(frozen=True, slots=True)
class StageField:
    """One array as one side of a stage has it. `role` is declared (UNKNOWN: wrongly), else what its name says."""

    name: str
    key: Key
    role: str | None
    shape: tuple[int | str, ...] | None
    dtype: str | None
    range: tuple[float, float] | None

    def at(self, part: str) -> Key:
        """The key of one of its attributes."""
        return (*self.key, part)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage by its kind and what it reads and gives; None where that is not said. `label` is its name in messages."""

    key: Key
    kind: str | None
    label: str
    reads: Mapping[str, StageField] | None
    gives: Mapping[str, StageField] | None


def stages(view: View) -> list[Stage]:
    """All stages in order."""
    kinds = [view.text(*key, "kind") for key, _ in view.items("data", "stages")]
    found = []
    for (key, _), kind in zip(view.items("data", "stages"), kinds, strict=True):
        number = int(key[-1]) + 1
        label = f"`{kind}`" if kinds.count(kind) == 1 and kind is not None else f"stage {number} (`{kind}`)"
        known = kind if kind in get_args(StageKind) else None
        found.append(Stage(key, known, label, fields(view, *key, "input"), fields(view, *key, "output")))
    return found


def batch_fields(view: View) -> Mapping[str, StageField]:
    """The arrays of a batch: `data.fields`, or what the last stage gives where these are not listed."""
    own = fields(view, "data", "fields")
    after = stages(view)
    return own or (after[-1].gives if after else None) or {}


def given(view: View) -> Iterable[tuple[str, Mapping[str, StageField]]]:
    """Every list of arrays that something gives, in the order it is made, with who gives it.

    What a stage reads stands for what the stage before gives, where that does not say."""
    before: Mapping[str, StageField] | None = None
    for stage in stages(view):
        if before is None and stage.reads is not None:
            yield f"what {stage.label} reads", stage.reads
        if stage.gives is not None:
            yield stage.label, stage.gives
        before = stage.gives
    own = fields(view, "data", "fields")
    if own:
        yield THE_BATCH, own


def fields(view: View, *key: str | int) -> Mapping[str, StageField] | None:
    """The arrays listed at a key; None where it lists none."""
    listed = view.get(*key)
    if not isinstance(listed, dict):
        return None
    return {str(name): _field(str(name), (*key, name), entry) for name, entry in listed.items()}


def known_sizes(view: View) -> dict[str, int]:
    """Sizes that the contract itself gives to names in shapes."""
    sizes = {"batch": view.integer("batch", "size"), "sequence": view.integer("model", "sequence")}
    return {name: size for name, size in sizes.items() if size is not None}


def spelled(shape: tuple[int | str, ...]) -> str:
    """`[batch, 128]`."""
    return "[" + ", ".join(map(str, shape)) + "]"


def _field(name: str, key: Key, entry: Any) -> StageField:
    said = entry if isinstance(entry, dict) else {}
    role, dtype, shape, between = (said.get(part) for part in ("role", "dtype", "shape", "range"))
    declared = role if role in ROLE_NAMES else UNKNOWN
    by_name = next((known for known, names in ROLE_NAMES.items() if name in names), None)
    return StageField(
        name,
        key,
        by_name if role is None else declared,
        tuple(shape) if isinstance(shape, list) and all(_is_dim(dim) for dim in shape) else None,
        dtype if isinstance(dtype, str) else None,
        _range(between),
    )


def _is_dim(dim: Any) -> bool:
    return isinstance(dim, (int, str)) and not isinstance(dim, bool)


def _range(between: Any) -> tuple[float, float] | None:
    if not isinstance(between, list) or len(between) != 2:
        return None
    if not all(map(is_number, between)):
        return None
    return between[0], between[1]
