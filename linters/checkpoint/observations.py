"""What a run left beside its steps: its configuration, the numbers of its steps, statistics and batches by step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...contracts.observations import CONFIG, METRICS, numbered
from .facts import Item
from .folder import Folder
from .metadata import parse
from .safetensors import read_safetensors

MOST = 512 * 1024**2
"""Bytes of all lines: a million steps take about 200 MB."""
Kind = Literal["statistics", "batch"]


@dataclass(frozen=True, slots=True)
class Line:
    """The numbers of one step; `number` is the line's."""

    number: int
    step: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Observations:
    """All of them. `folder` is None where there is none; `torn` are the numbers of lines that are no JSON object with a
    step; `files`: (kind, step) -> the arrays of that file."""

    place: str
    folder: str | None
    config: Mapping[str, Any] | None = None
    lines: tuple[Line, ...] = ()
    torn: tuple[int, ...] = ()
    files: Mapping[tuple[str, int], Item] | None = None

    def file(self, name: str) -> str:
        """A file of them, as a path below the folder of steps."""
        return f"{self.place}/{name}"

    def steps(self, kind: Kind) -> set[int]:
        """The steps that there is a file of this kind of."""
        return {step for each, step in self.files or {} if each == kind}


def read_observations(root: str | Path, place: str) -> Observations:
    """The observations below a folder of steps. Raises ContractLintError for files that are damaged."""
    above = Folder(Path(root), Path(root).as_posix())
    if not any(name == place and folder for name, folder in above.listed()):
        return Observations(place, None)
    folder = above.below(place)
    files = folder.files()
    config = parse(folder, CONFIG, folder.read(CONFIG)) if CONFIG in files else None
    lines, torn = _lines(folder) if METRICS in files else ([], [])
    arrays = {known: read_safetensors(folder, [name], files) for name in files if (known := numbered(name)) is not None}
    return Observations(place, folder.shown, config, tuple(lines), tuple(torn), arrays)


def _lines(folder: Folder) -> tuple[list[Line], list[int]]:
    lines: list[Line] = []
    torn: list[int] = []
    for number, text in enumerate(folder.read(METRICS, MOST).split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        step = values.get("step") if isinstance(values, dict) else None
        if isinstance(values, dict) and type(step) is int and step >= 0:
            lines.append(Line(number, step, values))
        else:
            torn.append(number)
    return lines, torn
