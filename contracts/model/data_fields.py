"""The arrays of a batch, and of the stages that make it: shape, dtype, range, and the part each plays."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from .base import Section

Role = Literal[
    "tokens", "targets", "segment_ids", "positions", "loss_mask", "loss_weights", "lengths", "attention_mask"
]
ROLE_NAMES: dict[Role, tuple[str, ...]] = {
    "tokens": ("tokens", "inputs", "input_ids", "input_tokens", "decoder_input_tokens"),
    "targets": ("targets", "labels", "target_ids", "decoder_target_tokens"),
    "segment_ids": ("segment_ids", "segments", "inputs_segmentation", "decoder_segment_ids", "segmentation"),
    "positions": ("positions", "position_ids", "inputs_position", "decoder_positions"),
    "loss_mask": ("loss_mask", "target_mask", "mask"),
    "loss_weights": ("loss_weights", "weights", "decoder_loss_weights"),
    "lengths": ("lengths", "length", "sequence_lengths"),
    "attention_mask": ("attention_mask",),
}
"""What arrays are called in JAX code; the first name of a role that a batch has counts, unless a contract says."""

COUNTING: tuple[Role, ...] = ("loss_mask", "loss_weights")
"""Roles of arrays that say which targets count, the likelier first; without one, an id of the targets may say it."""

FieldDtype = Literal[
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "bytes",
    "str",
]
Dim = Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
StageKind = Literal["raw", "tokenise", "pack", "shift", "mask", "shard", "map"]


def _ordered(value: list[int | float]) -> list[int | float]:
    if len(value) != 2 or not value[0] <= value[1]:
        raise ValueError("expected two numbers, the least first")
    return value


Range = Annotated[
    list[int | Annotated[float, Field(allow_inf_nan=True)]],
    AfterValidator(_ordered),
    WithJsonSchema({"type": "array", "minItems": 2, "maxItems": 2}),
]


class FieldSection(Section):
    """One array."""

    role: Role | None = Field(default=None, description="What it means; default: what its name says, if anything.")
    shape: list[Dim] | None = Field(
        default=None,
        description="Sizes or names; a name stands for one size in all fields (batch, sequence: the contract's own).",
    )
    dtype: FieldDtype | None = Field(default=None, description="As numpy spells it; bytes, str: a record of text.")
    range: Range | None = Field(
        default=None,
        description="Least and greatest value, both allowed. Of targets without a mask: a least one below 0 is the id "
        "of those that the loss does not count.",
    )

    @property
    def least(self) -> float | None:
        """Where the range begins; None without one."""
        return None if self.range is None else self.range[0]


class StageSection(Section):
    """One step on the way from records to a batch. Fields that it only hands on are in both lists."""

    kind: StageKind = Field(
        description="raw: records as they are read; shift: moves targets on by one; map: any other work."
    )
    input: dict[str, FieldSection] | None = Field(
        default=None, description="What it reads; default: whatever the stage before gives."
    )
    output: dict[str, FieldSection] | None = Field(
        default=None, description="Everything that leaves it; default, of the last: `data.fields`."
    )
