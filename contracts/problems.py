"""Codes of the findings that come from reading a text; `linters/{contract,verdict}/rules/` documents them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .finding import Finding, Location, Severity


@dataclass(frozen=True, slots=True)
class Problem:
    """The identity of one kind of finding."""

    code: str
    name: str
    severity: Severity = "error"

    def at(self, location: Location, message: str, *, key: str | None = None, **fields: Any) -> Finding:
        """A finding of this kind; its subject is the key, else the message."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=self.severity,
            message=message,
            subject=fields.pop("subject", None) or key or message,
            location=location,
            key=key,
            **fields,
        )


UNREADABLE = Problem("JIT001", "unreadable-contract")
UNKNOWN_KEY = Problem("JIT002", "unknown-key")
INVALID_VALUE = Problem("JIT003", "invalid-value")
MISSING_KEY = Problem("JIT004", "missing-key")
DUPLICATE_KEY = Problem("JIT005", "duplicate-key")
BROKEN_EXTENDS = Problem("JIT006", "broken-extends")
BROKEN_CONFIG = Problem("JIT007", "broken-config")
UNRESOLVED_BINDING = Problem("JIT008", "unresolved-binding")
INVALID_SUPPRESSION = Problem("JIT018", "invalid-suppression")
UNPARSEABLE = Problem("JIT100", "unparseable-file")
UNUSED_SUPPRESSION = Problem("JIT402", "unused-suppression", "warning")
STALE_BASELINE = Problem("JIT403", "stale-baseline-entry", "warning")
