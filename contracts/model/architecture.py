"""Sections `model`, `dtypes` and `optimizer`: what the closed-form plan is derived from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Section
from .sharding import Axes

Remat = Literal["none", "full"]


class DenseModel(Section):
    """A scanned decoder with grouped-query attention, as the reference trainer builds it."""

    kind: Literal["dense"]
    layers: int = Field(ge=1)
    d_model: int = Field(ge=1)
    heads: int = Field(ge=1)
    kv_heads: int = Field(ge=1)
    head_dim: int | None = Field(default=None, ge=1, description="Default: d_model / heads.")
    d_ff: int = Field(ge=1)
    mlp: Literal["gated", "plain"] = "gated"
    vocab: int = Field(ge=1)
    tied: bool = Field(default=False, description="The output head shares the embedding table.")
    sequence: int = Field(ge=1, description="Tokens in one sequence.")
    remat: Remat = "full"


class ListedModel(Section):
    """Any model, by the shapes of its parameters: exact for state bytes, silent on collectives."""

    kind: Literal["listed"]
    parameters: dict[str, list[int]] = Field(description="Parameter path -> global shape.")
    remat: Remat = Field(default="none", description="Whether the step recomputes activations in the backward pass.")


Model = Annotated[DenseModel | ListedModel, Field(discriminator="kind")]


class DtypesSection(Section):
    """Dtypes by role, as numpy spells them."""

    master: str = Field(default="float32", description="Parameters as the optimizer updates them.")
    compute: str = Field(default="bfloat16", description="Matrix products and activations.")
    moments: str = Field(default="float32", description="Optimizer slots.")


class OptimizerSection(Section):
    """The optimizer by its slots, and where those live."""

    name: Literal["adamw", "adam", "sgd", "momentum"] = "adamw"
    placement: Literal["parameters"] | Axes = Field(
        default="parameters", description="`parameters`: as the parameter; or mesh axes the slots are further split over (ZeRO-1)."
    )
