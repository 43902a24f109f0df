"""The lock of a contract: one line for each parameter with what it means in training, committed beside the contract.

What a refactor changes silently - a parameter's initialiser, decay, learning rate, clip, dtype or placement - is then a
line of a review.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from .errors import ContractLintError
from .finding import Location
from .json_nodes import read_json
from .suggest import did_you_mean
from .yaml_nodes import Node, plain

LOCK_SCHEMA = 1
SUFFIX = ".lock.json"
WHY_MAX = 500


@dataclass(frozen=True, slots=True)
class LockedParameter:
    """One parameter. `placement`: mesh axes of each dimension; None where the program does not tell.

    `start` is its initialiser in words, `decay` its weight decay, `rate` the factor of its learning rate, `clip` what
    it is clipped with: `all`, `alone` or `none`. None where one update does not tell.
    """

    shape: tuple[int, ...]
    dtype: str
    placement: tuple[tuple[str, ...], ...] | None
    start: str
    decay: float | None
    rate: float | None
    clip: str | None
    place: Location | None = field(default=None, compare=False)

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "place"}


FIELDS = tuple(each.name for each in fields(LockedParameter) if each.name != "place")


@dataclass(frozen=True)
class Lock:
    """Step -> parameter path -> what is locked. `why` says what the last change was for."""

    contract: str
    why: str
    steps: Mapping[str, Mapping[str, LockedParameter]]
    path: str | None = None

    def as_text(self) -> str:
        """The file: one line for each parameter, sorted by path."""
        head = {"schema_version": LOCK_SCHEMA, "contract": self.contract, "why": self.why}
        steps = []
        for step, parameters in sorted(self.steps.items()):
            lines = [
                f"      {json.dumps(path)}: {json.dumps(locked.as_json())}"
                for path, locked in sorted(parameters.items())
            ]
            steps.append(f"    {json.dumps(step)}: {{\n" + ",\n".join(lines) + "\n    }")
        text = json.dumps(head, indent=2).removesuffix("\n}")
        return text + ',\n  "steps": {\n' + ",\n".join(steps) + "\n  }\n}\n"


def lock_path(contract: Path) -> Path:
    """`train.contract.yaml` -> `train.contract.lock.json`."""
    return contract.with_name(contract.name.removesuffix(".yaml").removesuffix(".yml") + SUFFIX)


def read_lock(path: Path, shown: str | None = None) -> Lock:
    """A lock file. Raises ContractLintError, with line and column, for what is none."""
    root = read_json(path, shown)
    whole = _mapping(root, ("schema_version", "contract", "why", "steps"))
    version = whole["schema_version"]
    if version.value != LOCK_SCHEMA:
        raise ContractLintError(
            f"`schema_version` is not {LOCK_SCHEMA}, the version that is known here",
            version.place,
            "write it again with `contract-lint lock --update --why ...`",
        )
    steps = {
        name: {path: _parameter(each) for path, each in _mapping(step).items()}
        for name, step in _mapping(whole["steps"]).items()
    }
    return Lock(_text(whole["contract"]), _text(whole["why"]), steps, root.source.name)


def _mapping(node: Node, names: tuple[str, ...] = ()) -> dict[str, Node]:
    """The entries of a mapping; with `names` exactly these, without any."""
    if not isinstance(node.value, dict):
        raise ContractLintError("a mapping is expected here: is this a lock?", node.location)
    for name, child in node.value.items() if names else ():
        if name not in names:
            raise ContractLintError(f"unknown key `{name[:80]}`", child.location, did_you_mean(name, names))
    for name in names:
        if name not in node.value:
            raise ContractLintError(f"has no key `{name}`", node.place)
    return node.value


def _text(node: Node) -> str:
    if not isinstance(node.value, str):
        raise ContractLintError("text is expected here", node.place)
    return node.value


def _parameter(node: Node) -> LockedParameter:
    given = {name: plain(child) for name, child in _mapping(node, FIELDS).items()}
    places = {name: child.place for name, child in _mapping(node).items()}

    def checked(name: str, fits: bool, expected: str) -> None:
        if not fits:
            raise ContractLintError(f"`{name}` must be {expected}", places[name])

    axes = given["placement"]
    checked("shape", _all(given["shape"], int), "a list of whole numbers")
    checked("placement", axes is None or (_all(axes, list) and all(_all(each, str) for each in axes)), "lists of axes")
    for name in ("dtype", "start"):
        checked(name, isinstance(given[name], str), "text")
    checked("clip", given["clip"] in (None, "all", "alone", "none"), "all, alone, none or null")
    for name in ("decay", "rate"):
        value = given[name]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        checked(name, value is None or number, "a number or null")
    return LockedParameter(
        shape=tuple(given["shape"]),
        dtype=given["dtype"],
        placement=None if axes is None else tuple(tuple(each) for each in axes),
        start=given["start"],
        decay=given["decay"],
        rate=given["rate"],
        clip=given["clip"],
        place=node.key or node.place,
    )


def _all(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(each, kind) and not isinstance(each, bool) for each in value)
