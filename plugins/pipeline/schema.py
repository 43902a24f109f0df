"""The JSON Schema of contracts, as editors read it (draft 2020-12)."""

from __future__ import annotations

from typing import Any

from ...contracts.model import Contract

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def contract_schema() -> dict[str, Any]:
    """The schema of one contract file."""
    return {"$schema": DIALECT, "title": "contract-lint contract"} | Contract.model_json_schema()
