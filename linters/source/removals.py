"""Names of libraries whose every mention is recorded. A data table."""

from __future__ import annotations

NOTED: frozenset[str] = frozenset()
