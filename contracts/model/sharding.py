"""Sections `mesh`, `targets`, `batch` and `parameters`: where every tensor lives."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ..pattern import path_pattern
from .base import Bytes, Section
from .objective import Combine

Axes = str | list[str] | None
"""One mesh axis, several, or none (replicated)."""


def as_axes(axes: Axes) -> tuple[str, ...]:
    """The mesh axes as a tuple; none is the empty tuple."""
    if axes is None:
        return ()
    return (axes,) if isinstance(axes, str) else tuple(axes)


AxisSize = Annotated[int, Field(ge=1)]


class MeshSection(Section):
    """The logical device mesh."""

    axes: dict[str, AxisSize] = Field(description="Axis name -> size, outermost first.")
    dcn: dict[str, AxisSize] = Field(default_factory=dict, description="Axis name -> size across slices or hosts.")


class TargetSection(Section):
    """A target, and the mesh it uses where that differs from the contract's."""

    target: str = Field(description="`cpu:8`, `tpu:v5e:4x4`, `cuda:h100:1x8`.")
    mesh: MeshSection | None = Field(default=None, description="This target's mesh; default: the contract's.")

    @model_validator(mode="before")
    @classmethod
    def _plain_name(cls, value: Any) -> Any:
        if not isinstance(value, (str, dict, cls)):
            raise ValueError("expected a target such as cpu:8, or a mapping with `target` and `mesh`")
        return {"target": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(core_schema)]}


class BatchSection(Section):
    """The global batch of one step and the mesh axes it is split over."""

    size: int = Field(ge=1, description="Sequences (examples) in the global batch of one step.")
    axes: Axes = Field(default=None, description="Mesh axes the batch dimension is split over.")


class AccumulationSection(Section):
    """Gradient accumulation."""

    microbatches: int = Field(default=1, ge=1, description="Microbatches in one step.")
    arg: str | None = Field(
        default=None, description="The build argument that sets the number of microbatches; passes nothing on."
    )
    reduce: Literal["once", "free"] = Field(
        default="free", description="once: gradients are summed over devices after the last microbatch, not in each."
    )
    order: Literal["strided", "contiguous"] = Field(
        default="strided",
        description="Rows of microbatch n: every N-th one from n on, or the n-th block of rows.",
    )
    dtype: str | None = Field(default=None, description="Dtype the gradients are added up in, as numpy spells it.")
    combine: Combine | None = Field(
        default=None, description="What divides when, for every term of the objective that does not say."
    )


def _pattern(value: str) -> str:
    path_pattern(value)
    return value


Pattern = Annotated[str, AfterValidator(_pattern)]


class ParameterRule(Section):
    """Parameters whose path matches have these logical axes, one for each dimension."""

    match: Pattern = Field(description="Regular expression, matched against the end of the path at a `/` boundary.")
    axes: list[str | None] = Field(description="Logical (or mesh) axis of each dimension; null is replicated.")


class ParametersSection(Section):
    """How parameters are placed: logical axes, mapped to mesh axes."""

    logical_axes: dict[str, Axes] = Field(default_factory=dict, description="Logical axis -> mesh axis, axes or null.")
    rules: list[ParameterRule] = Field(default_factory=list, description="First match wins.")
    replicated_max: Bytes | None = Field(default=None, description="Largest parameter that may be replicated.")
