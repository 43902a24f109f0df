"""Section `data`: what the fields of a batch mean, how documents share a row, and what the loss counts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Section
from .data_fields import ROLE_NAMES, FieldSection, Role, StageSection
from .data_source import (
    DatasetSection,
    DataShardingSection,
    Digest,
    LoaderSection,
    ProgressSection,
    SamplerSection,
    Weight,
)


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
    stages: list[StageSection] = Field(
        default_factory=list, description="How records become the batch, in the order it is done."
    )
    tokenizer: TokenizerSection | None = Field(default=None, description="The ids.")
    dataset: DatasetSection | None = Field(default=None, description="Which files it is made of.")
    mixture: dict[str, Weight] = Field(default_factory=dict, description="Source -> its share of 1, or whole numbers.")
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

    @property
    def batch_fields(self) -> dict[str, FieldSection]:
        """The arrays of a batch: `fields`, or what the last stage gives where these are not listed."""
        return self.fields or (self.stages[-1].output if self.stages else None) or {}

    def names_of(self, role: Role) -> list[str]:
        """What an array of a role may be called, the likelier first: the names that the contract gives it, then the
        usual ones, without those that it gives another role."""
        declared = {name: field.role for name, field in self.batch_fields.items() if field.role is not None}
        given = [name for name, known in declared.items() if known == role]
        return [*given, *(name for name in ROLE_NAMES[role] if name not in declared)]

    @property
    def fields_key(self) -> str:
        """The key that `batch_fields` stands at."""
        return "data.fields" if self.fields or not self.stages else f"data.stages[{len(self.stages) - 1}].output"
