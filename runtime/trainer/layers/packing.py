"""How documents share the rows of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import jax


class Packing(NamedTuple):
    """segments_BS: the document of each token, 0 for padding; positions_BS: its place there, from 0. Both int32."""

    segments_BS: jax.Array
    positions_BS: jax.Array

    @classmethod
    def of(cls, batch: Mapping[str, jax.Array]) -> Packing | None:
        """That of a batch; None where every row is one document."""
        return cls(batch["segment_ids"], batch["positions"]) if "segment_ids" in batch else None
