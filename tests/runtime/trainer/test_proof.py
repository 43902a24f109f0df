"""A billion parameters on 256 devices, compiled on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PARAMETERS = 971_018_240
NORMS = (2 * 4 + 1) * 4096
COUNTERS = 2 * 4
BATCH = 512 * 1024 * (4 + 4 + 4)


@pytest.mark.slow
def test_proof_preset_compiles_with_the_state_of_its_plans(child: Callable[..., Any]) -> None:
    """Float32 parameters and two moments: 12 bytes each, divided by the axes they are split over."""
    result = child("proof", devices=256, timeout=900)
    states = {
        "fsdp": 12 * PARAMETERS // 256,
        "zero-1": 4 * PARAMETERS + 8 * PARAMETERS // 256,
        "tp": 12 * ((PARAMETERS - NORMS) // 8 + NORMS),
    }
    shards = {"fsdp": 256, "zero-1": 256, "tp": 32}
    for name, state in states.items():
        assert result[name]["reused"] == state + COUNTERS, name
        assert result[name]["arguments"] == state + COUNTERS + BATCH // shards[name], name
