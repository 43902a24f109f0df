"""Sections `collectives`, `memory`, `graph` and `deviations`: what the compiled program may contain."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from .base import Bytes, Section, Share
from .sharding import Axes

CollectiveKind = Literal[
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-permute",
    "collective-broadcast",
    "send-recv",
]

Offloaded = Literal["activations", "parameter", "optimizer_slot"]


def _day(value: Any) -> date:
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise ValueError("expected a date such as 2027-03-01") from error


Day = Annotated[date, BeforeValidator(_day)]


class ExpectedCollective(Section):
    """All collectives of one kind over one set of axes, summed over a step."""

    kind: CollectiveKind = Field(description="Kind of collective.")
    axes: Axes = Field(description="Mesh axes it runs over.")
    count: int = Field(ge=0, description="Executions in one step, loops multiplied.")
    elements: int | None = Field(default=None, ge=0, description="Elements per device in one step, loops multiplied.")
    dtype: str | None = Field(default=None, description="Dtype on the wire, as numpy spells it.")
    ring_bytes: Bytes | None = Field(default=None, description="Bytes sent per device in one step by a ring.")
    review: str | None = Field(default=None, description="Left by `init`: found, not yet confirmed by a person.")


class AllowedCollective(Section):
    """Collectives that are fine without being planned, such as metric reductions."""

    kind: CollectiveKind = Field(description="Kind of collective.")
    axes: Axes = Field(description="Mesh axes it runs over.")
    elements_max: int = Field(ge=0, description="Largest single collective, in elements.")
    reason: str = Field(min_length=1, description="Why it is fine.")


class CollectivesSection(Section):
    """The communication of one step."""

    expect: Literal["closed_form"] | list[ExpectedCollective] = Field(
        default="closed_form", description="`closed_form`: from model, mesh and placements; or a list, complete."
    )
    allow: list[AllowedCollective] = Field(default_factory=list, description="Fine without being planned.")
    dcn_max: Bytes | None = Field(
        default=None, description="Bytes one device may send in a step between slices or hosts (`mesh.dcn`)."
    )


class MemorySection(Section):
    """Device memory of one step, per device."""

    hbm: Bytes | None = Field(default=None, description="Arguments + un-aliased outputs + packed temp + code must fit.")
    classes: dict[str, Bytes] = Field(
        default_factory=dict,
        description="Upper bound per buffer class: parameter, optimizer_slot, activation_temporary, ...",
    )
    offload: list[Offloaded] = Field(
        default_factory=list, description="What lives in host memory: saved activations, parameters, optimizer slots."
    )
    padding_max: Share | None = Field(
        default=None, description="Tile padding of all parameters, as a share of their bytes, such as 25%."
    )


class GraphSection(Section):
    """What the traced and compiled graph may hold."""

    host_callbacks: Literal["forbid", "allow"] = Field(
        default="allow", description="Callbacks, infeed and outfeed, debug prints included."
    )
    constants_max: Bytes | None = Field(default=None, description="Largest closed-over constant.")
    repeated_blocks_max: int | None = Field(
        default=None, ge=1, description="Copies of one block that may stand unrolled."
    )
    dynamic_shapes: Literal["forbid", "allow"] = Field(default="allow", description="Dimensions unknown when tracing.")
    kernels: Literal["forbid", "allow"] | list[str] = Field(
        default="allow",
        description="Kernels called by name: none, any, or these `custom_call_target`s.",
    )


class Deviation(Section):
    """A finding that is accepted, with its reason and optionally its end."""

    rule: str = Field(description="Rule code or name.")
    match: dict[str, Any] = Field(default_factory=dict, description="Fields of the finding that must agree.")
    reason: str = Field(min_length=1, description="Why it is accepted.")
    until: Day | None = Field(default=None, description="Last day on which it is accepted.")
