"""Settings of every test: no example fails for being slow, a loaded machine says nothing about the code."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("contract-lint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("contract-lint")
