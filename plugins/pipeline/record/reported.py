"""The verdict in a report of contract-lint, as a record holds it."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....contracts.record import VerdictState


def verdict_in(data: bytes, shown: str) -> VerdictState:
    """What the bytes of a report as JSON say. Raises ContractLintError for what is none."""
    try:
        found: Any = json.loads(data)
        new = [each for each in found["findings"] if each["status"] == "new" and each["caused_by"] is None]
        return VerdictState(
            verb=found.get("verb") or "report",
            verdict=found["verdict"],
            headline=found["headline"],
            targets=sorted({each["target"] for each in found.get("targets", []) if "target" in each}),
            summary=found["summary"],
            findings=[f"{each['code']} {each['fingerprint']}" for each in new],
            source=shown,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ValidationError):
        help = "write one with `--format json --output FILE`"
        raise ContractLintError("is no report of contract-lint as JSON", Location(shown), help) from None
