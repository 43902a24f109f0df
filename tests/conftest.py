"""Settings of every test: no example fails for being slow, a loaded machine says nothing about the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("contract-lint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("contract-lint")

LIGHT = Path(__file__).parent / "linters"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What compiles and runs programs comes first: a long file that began last would run alone, on one core of two."""
    items.sort(key=lambda item: item.path.is_relative_to(LIGHT))
