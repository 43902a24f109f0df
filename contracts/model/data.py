"""Section `data`: what the fields of a batch mean, how documents share a row, and what the loss counts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema, model_validator

from .base import Section
from .data_source import (
    DatasetSection,
    DataShardingSection,
    Digest,
    LoaderSection,
    ProgressSection,
    SamplerSection,
    Weight,
)

Role = Literal["tokens", "targets", "segment_ids", "positions", "loss_mask", "loss_weights", "lengths"]
ROLE_NAMES: dict[Role, tuple[str, ...]] = {
    "tokens": ("tokens", "inputs", "input_ids", "input_tokens", "decoder_input_tokens"),
    "targets": ("targets", "labels", "target_ids", "decoder_target_tokens"),
    "segment_ids": ("segment_ids", "segments", "inputs_segmentation", "decoder_segment_ids", "segmentation"),
    "positions": ("positions", "position_ids", "inputs_position", "decoder_positions"),
    "loss_mask": ("loss_mask", "target_mask", "mask"),
    "loss_weights": ("loss_weights", "weights", "decoder_loss_weights"),
    "lengths": ("lengths", "length", "sequence_lengths"),
}
"""What arrays are called in JAX code; the first name of a role that a batch has counts, unless a contract says."""

Dim = Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Number = int | float


class FieldSection(Section):
    """One array of a batch."""

    role: Role | None = Field(default=None, description="What it means; default: what its name says, if anything.")
    shape: list[Dim] | None = Field(
        default=None,
        description="Sizes or names; a name stands for one size in all fields (batch, sequence: the contract's own).",
    )
    dtype: str | None = Field(default=None, description="As numpy spells it.")
    range: Annotated[list[Number], WithJsonSchema({"type": "array", "minItems": 2, "maxItems": 2})] | None = Field(
        default=None, description="Least and greatest value, both allowed."
    )

    @model_validator(mode="after")
    def _ordered(self) -> FieldSection:
        if self.range is not None and (len(self.range) != 2 or not self.range[0] <= self.range[1]):
            raise ValueError("expected `range: [least, greatest]`")
        return self


class TokenizerSection(Section):
    """The vocabulary and the ids that are not text."""

    vocab: int = Field(ge=1, description="Number of ids; every id is below it.")
    pad_id: int | None = Field(default=None, ge=0, description="Fills rows up.")
    eos_id: int | None = Field(default=None, ge=0, description="Ends a document.")
    bos_id: int | None = Field(default=None, ge=0, description="Begins a document.")
    special: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict, description="Further ids by name.")
    sha256: Digest | None = Field(default=None, description="Digest of its files, as a data manifest has it.")


class PackingSection(Section):
    """How documents share a row."""

    kind: Literal["none", "segments"] = Field(
        default="none", description="none: one document a row; segments: several, told apart by segment ids."
    )
    positions: Literal["segment", "row"] = Field(
        default="segment", description="Positions begin at 0 in every segment, or once a row."
    )
    padding_segment: int = Field(default=0, description="The segment id of padding.")


class AttentionSection(Section):
    """Which keys a query may see."""

    scope: Literal["segment", "row"] = Field(default="segment", description="Its own segment, or the whole row.")
    causal: bool = Field(default=True, description="Keys behind the query are hidden.")
    window: int | None = Field(default=None, ge=1, description="Only so many keys, the query's own among them.")


class CountedSection(Section):
    """Which targets the loss counts, beside what its mask says."""

    padding: bool = Field(default=False, description="Targets that are padding.")
    eos: bool | None = Field(
        default=None, description="true: the end of every document is learnt; null: nothing is promised."
    )
    across_documents: bool = Field(default=False, description="The first token of the next document in the row.")


class DataSection(Section):
    """What a batch is."""

    fields: dict[str, FieldSection] = Field(default_factory=dict, description="Array name -> what it is.")
    tokenizer: TokenizerSection | None = Field(default=None, description="The ids.")
    dataset: DatasetSection | None = Field(default=None, description="Which files it is made of.")
    mixture: dict[str, Weight] = Field(default_factory=dict, description="Source -> its share; any positive numbers.")
    sampler: SamplerSection | None = Field(default=None, description="In what order records come.")
    sharding: DataShardingSection | None = Field(default=None, description="Who reads which part of a batch.")
    loader: LoaderSection | None = Field(default=None, description="What opens the data.")
    progress: ProgressSection | None = Field(default=None, description="How a run says where in the data it stands.")
    packing: PackingSection = Field(default_factory=PackingSection, description="Several documents in a row.")
    attention: AttentionSection = Field(default_factory=AttentionSection, description="What a query sees.")
    shift: Literal["batch", "model"] | None = Field(
        default=None,
        description="Who moves the targets on by one token: the batch already, or the model.",
    )
    counted: CountedSection = Field(default_factory=CountedSection, description="Which targets the loss counts.")
