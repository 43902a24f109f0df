"""Section `checkpoint`: what a saved state holds, how it lies on disk, and when it counts as saved."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Section
from .sharding import Axes, Pattern

Layout = Literal["ocdbt", "zarr", "zarr3", "safetensors"]
Level = Literal["exact", "up-to-dtype", "contains"]
Path = Annotated[str, Field(min_length=1, pattern=r"^[^/].*$")]


class LeafSection(Section):
    """One array of the state."""

    shape: list[Annotated[int, Field(ge=0)]] | None = Field(default=None, description="Its global shape.")
    dtype: str | None = Field(default=None, description="As numpy spells it.")
    axes: list[Axes] | None = Field(default=None, description="Mesh axes that each dimension is split over.")


class RetentionSection(Section):
    """Which steps stay."""

    last: int = Field(ge=1, description="So many of the newest committed steps.")
    every: int | None = Field(default=None, ge=1, description="Also every step that is a multiple of this.")


class CadenceSection(Section):
    """How often something is observed."""

    every: int = Field(default=1, ge=1, description="Once in so many steps.")


class MetricLinesSection(CadenceSection):
    """Numbers of a step, as a line of `metrics.jsonl`."""

    fields: list[str] = Field(
        default_factory=lambda: ["loss", "grad_norm", "learning_rate", "tokens"],
        min_length=1,
        description="Names that every line has beside `step`.",
    )


class ValueStatisticsSection(CadenceSection):
    """Norm, mean, extremes, NaN and infinities of each array, as `statistics-STEP.safetensors`."""

    of: list[Path] = Field(
        default_factory=lambda: ["params", "grads"],
        min_length=1,
        description="Trees whose arrays are looked at: `params`, `opt_state`, `grads`.",
    )


class ObservationsSection(Section):
    """What a run leaves beside its checkpoints so that two runs can be compared."""

    place: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.-]*$")] = Field(
        default="observations", description="Folder beside the steps."
    )
    metrics: MetricLinesSection = Field(default_factory=MetricLinesSection, description="Numbers of each step.")
    statistics: ValueStatisticsSection | None = Field(default=None, description="Statistics of values.")
    batches: CadenceSection | None = Field(
        default=None, description="Key batches, as `batch-STEP.safetensors`: what `batch check` and `inspect` read."
    )


class CheckpointSection(Section):
    """What a checkpoint is. Shapes and dtypes of parameters and slots follow from `model`, `dtypes`, `optimizer`."""

    layout: Layout | None = Field(default=None, description="How arrays lie on disk.")
    level: Level = Field(
        default="exact",
        description="exact: these parameters and no others; up-to-dtype: dtypes may differ; contains: others too.",
    )
    parameters: Path | None = Field(
        default=None, description="Path that all parameters lie below, or that holds it; default: the first `params`."
    )
    slots: dict[str, Literal["parameters", "any"]] | None = Field(
        default=None,
        description="Optimizer slot -> shapes: those of the parameters, or any (factored). Default: `optimizer`'s.",
    )
    frozen: list[Pattern] = Field(
        default_factory=list, description="Patterns of parameters that have no optimizer slots, matched at their end."
    )
    state: dict[str, Path] = Field(
        default_factory=dict,
        description="What else a resume needs (step, rng, schedule, tokens, data cursor, ...) -> leaf, item or file.",
    )
    leaves: dict[Path, LeafSection] = Field(default_factory=dict, description="Further arrays by path.")
    commit: Literal["rename", "marker"] = Field(
        default="rename",
        description="A step counts once its folder has its name; or (object stores) once commit_success.txt is in it.",
    )
    retention: RetentionSection | None = Field(default=None, description="Which steps stay.")
    observations: ObservationsSection | None = Field(
        default=None, description="What the run leaves beside its steps: numbers, statistics, key batches."
    )
