"""Hot spots: work that goes through memory more often than one fused kernel would."""

from __future__ import annotations

from .hotspot import HotSpot, HotSpots
from .ledger import hot_spots

__all__ = ["HotSpot", "HotSpots", "hot_spots"]
