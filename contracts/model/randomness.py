"""Section `rng`: where random numbers come from, and how often they are drawn anew."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Section

Granularity = Literal["step", "microbatch", "layer", "device"]


class RootSection(Section):
    """The key that all others are derived from."""

    seed: int | None = Field(default=None, description="Seed of the root key.")
    impl: str | None = Field(default=None, description="Its implementation, such as threefry2x32.")
    arg: str | None = Field(default=None, description="The build argument that sets the seed; passes nothing on.")


class RngSection(Section):
    """Random numbers of a step."""

    root: RootSection | None = Field(default=None, description="The root key.")
    derivation: Literal["fold_in", "split", "carried"] | None = Field(
        default=None,
        description="fold_in: from the root and the counters; split: from the key before; carried: a key in the state.",
    )
    streams: dict[str, list[Granularity]] = Field(
        default_factory=dict, description="Stream -> what it is drawn anew for; none: once for the whole run."
    )
