"""Section `step`: which function is promised, how it is built, and over which inputs."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from .base import Section

_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"
ENTRY = rf"{_NAME}:{_NAME}"


def _entry(value: str) -> str:
    if re.fullmatch(ENTRY, value) is None:
        raise ValueError("expected `module:function`, such as my_pkg.train:build")
    return value


Entry = Annotated[str, AfterValidator(_entry), WithJsonSchema({"type": "string", "pattern": f"^{ENTRY}$"})]


class StepSection(Section):
    """One step: `build(mesh, **args)` of `entry` returns an object with `fn`, `args`, `donate`, ..."""

    entry: Entry = Field(description="`module:function` that builds the step.")
    path: list[str] = Field(default_factory=list, description="Folders put on sys.path, relative to this file.")
    args: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments of the build function.")
    reference_args: dict[str, Any] = Field(
        default_factory=dict,
        description="Build arguments of the twin that `--run` compares with, e.g. {compute: float32}.",
    )
    donate: list[str] | None = Field(default=None, description="Arguments whose buffers the step promises to reuse.")
    static: list[str] | None = Field(default=None, description="Arguments that are compile-time constants.")
    signatures: dict[str, list[list[int]]] = Field(
        default_factory=dict, description="Input name -> the shapes the loop will feed it."
    )
    compiles: int | None = Field(default=None, ge=1, description="Executables promised over all signatures and steps.")
    review: str | None = Field(default=None, description="Left by `init`: found, not yet confirmed by a person.")
