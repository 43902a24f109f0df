"""Where batches come from: which data, which tokenizer, in what order, and how a run says where in it it stands."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from .base import Section

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)] | Annotated[int, Field(gt=0)]


class DatasetSection(Section):
    """The files, as `batch manifest build` sees them."""

    manifest: str | None = Field(default=None, min_length=1, description="Its manifest, relative to this file.")
    root: Digest | None = Field(default=None, description="The root digest of its manifest.")


class SamplerSection(Section):
    """In what order records come."""

    kind: str | None = Field(
        default=None,
        min_length=1,
        description="As a progress record has it; of grain: shuffle, sequential.",
    )
    seed: int | None = Field(default=None, ge=0, description="What the order follows from.")


class DataShardingSection(Section):
    """How one global batch is divided."""

    processes: int = Field(default=1, ge=1, description="Processes that read data; each reads its own rows.")
    prefetch: int | None = Field(default=None, ge=0, description="Batches read ahead, as a record has it.")


class LoaderSection(Section):
    """The function that opens the data, for `batch replay`."""

    entry: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", description="module:function")
    path: list[str] = Field(default_factory=list, description="Folders for sys.path, relative to this file.")
    args: dict[str, Any] = Field(default_factory=dict, description="Its arguments.")


class ProgressSection(Section):
    """The record that is saved beside each checkpoint."""

    fields: list[str] = Field(default_factory=list, description="The twelve (see docs/data.md), and a project's own.")
    tokens_per_step: int | None = Field(default=None, ge=1, description="Tokens that each step takes from the data.")
