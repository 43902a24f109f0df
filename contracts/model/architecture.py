"""Sections `model` and `dtypes`: what the closed-form plan is derived from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Section

Remat = Literal["none", "full"]


class DenseModel(Section):
    """A scanned decoder with grouped-query attention, as the reference trainer builds it."""

    kind: Literal["dense"] = Field(description="The reference decoder.")
    layers: int = Field(ge=1, description="Decoder layers, stacked in one scan.")
    d_model: int = Field(ge=1, description="Width of the residual stream.")
    heads: int = Field(ge=1, description="Query heads.")
    kv_heads: int = Field(ge=1, description="Key/value heads; divides heads.")
    head_dim: int | None = Field(default=None, ge=1, description="Default: d_model / heads.")
    d_ff: int = Field(ge=1, description="Hidden width of the MLP.")
    mlp: Literal["gated", "plain"] = Field(default="gated", description="gated: three matrices (SwiGLU); plain: two.")
    vocab: int = Field(ge=1, description="Rows of the embedding table.")
    tied: bool = Field(default=False, description="The output head shares the embedding table.")
    sequence: int = Field(ge=1, description="Tokens in one sequence.")
    remat: Remat = Field(default="full", description="Whether each layer is computed again in the backward pass.")


class ListedModel(Section):
    """Any model, by the shapes of its parameters: exact for state bytes, silent on collectives."""

    kind: Literal["listed"] = Field(description="A model given by its parameters.")
    parameters: dict[str, list[Annotated[int, Field(ge=0)]]] = Field(description="Parameter path -> global shape.")
    remat: Remat | Literal["policy"] = Field(
        default="none",
        description="What the backward pass recomputes: nothing, all of a block, or what a checkpoint policy leaves.",
    )


Model = Annotated[DenseModel | ListedModel, Field(discriminator="kind")]


class DtypesSection(Section):
    """Dtypes by role, as numpy spells them."""

    master: str = Field(default="float32", description="Parameters as the optimizer updates them.")
    compute: str = Field(default="bfloat16", description="Matrix products and activations.")
    moments: str = Field(default="float32", description="Optimizer slots.")
