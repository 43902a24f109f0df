"""Section `step`: which function is promised, how it is built, and over which inputs."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .base import Section


class StepSection(Section):
    """One step: `build(mesh, **args)` of `entry` returns an object with `fn`, `args`, `donate`, ..."""

    entry: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", description="`module:function` that builds the step.")
    path: list[str] = Field(default_factory=list, description="Folders put on sys.path, relative to this file.")
    args: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments of the build function.")
    reference_args: dict[str, Any] = Field(
        default_factory=dict, description="Build arguments of the twin that `--run` compares with, e.g. {compute: float32}."
    )
    donate: list[str] | None = Field(default=None, description="Arguments whose buffers the step promises to reuse.")
    static: list[str] | None = Field(default=None, description="Arguments that are compile-time constants.")
    signatures: dict[str, list[list[int]]] = Field(
        default_factory=dict, description="Input name -> the shapes the loop will feed it."
    )
    compiles: int | None = Field(default=None, ge=1, description="Executables promised over all signatures and steps.")
