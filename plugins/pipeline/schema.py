"""The JSON Schema of contracts, as editors read it (draft 2020-12)."""

from __future__ import annotations

from typing import Any

from ...contracts.binding import UNBOUND_SECTIONS
from ...contracts.model import Contract

DIALECT = "https://json-schema.org/draft/2020-12/schema"
BINDING = {
    "type": "object",
    "description": "A value of the project's own configuration: alias#dotted.key, see `config`.",
    "properties": {"from": {"type": "string", "pattern": "^[^#]+#.+$"}},
    "required": ["from"],
    "additionalProperties": False,
}
_REFERENCE = {"$ref": "#/$defs/Binding"}


def contract_schema() -> dict[str, Any]:
    """The schema of one contract file: the models, with a binding allowed wherever a value may be bound."""
    schema = Contract.model_json_schema()
    definitions = {name: _bindable(part) for name, part in schema.pop("$defs", {}).items()}
    top = _bindable(schema, UNBOUND_SECTIONS)
    return {"$schema": DIALECT, "title": "contract-lint contract"} | top | {"$defs": definitions | {"Binding": BINDING}}


def _bindable(schema: Any, unbound: tuple[str, ...] = ()) -> Any:
    """The schema with a binding allowed for every property; titles and descriptions stay where editors look."""
    if isinstance(schema, list):
        return [_bindable(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: value if key == "properties" else _bindable(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {
            name: part if name in unbound else _or_binding(_bindable(part))
            for name, part in schema["properties"].items()
        }
    return found


def _or_binding(part: dict[str, Any]) -> dict[str, Any]:
    outside = {key: part[key] for key in ("title", "description", "default") if key in part}
    return outside | {"anyOf": [{key: value for key, value in part.items() if key not in outside}, dict(_REFERENCE)]}
