"""The JSON Schema of contracts, for editors: every key described, `{from: ...}` allowed wherever a value stands."""

from __future__ import annotations

from typing import Any

from .model import Contract

DIALECT = "https://json-schema.org/draft/2020-12/schema"
BINDING = {
    "title": "Binding",
    "description": "A value of the project's own configuration: alias of `config`, `#`, dotted key.",
    "type": "object",
    "properties": {
        "from": {"type": "string", "pattern": "^[^#]+#.+$", "description": "Such as base#model.num_layers."}
    },
    "required": ["from"],
    "additionalProperties": False,
}
UNBOUND = frozenset({"contract", "extends", "config"})
_NESTED = ("properties", "additionalProperties", "items", "anyOf", "oneOf")


def contract_json_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of a contract file. It knows names, types, units and ranges; cross-field rules are not in it.

    A file that extends another may leave out what the other gives, so no top-level key but `contract` is required.
    """
    schema = Contract.model_json_schema(mode="validation")
    definitions = schema.pop("$defs")
    for definition in definitions.values():
        _allow_bindings(definition)
    properties = schema["properties"]
    for name, section in properties.items():
        if name not in UNBOUND:
            properties[name] = _or_binding(section)
            _allow_bindings(section)
    schema["required"] = ["contract"]
    schema["title"] = "contract-lint contract"
    return {"$schema": DIALECT, **schema, "$defs": definitions | {"Binding": BINDING}}


def _or_binding(schema: Any) -> Any:
    """The schema, or a binding; title, description and default stay outside, where editors look for them."""
    if not isinstance(schema, dict) or not schema:
        return schema
    outside = {name: schema[name] for name in ("title", "description", "default") if name in schema}
    inside = {name: value for name, value in schema.items() if name not in outside}
    if not inside:
        return schema
    return outside | {"anyOf": [inside, {"$ref": "#/$defs/Binding"}]}


def _allow_bindings(schema: dict[str, Any]) -> None:
    """Every value below may be a binding. Discriminators (`kind`) stay as they are, or no branch could be chosen."""
    for keyword in _NESTED:
        below = schema.get(keyword)
        if isinstance(below, list):
            for option in below:
                _allow_bindings(option)
        elif keyword == "properties" and isinstance(below, dict):
            for name, value in below.items():
                _allow_bindings(value)
                if "const" not in value:
                    below[name] = _or_binding(value)
        elif isinstance(below, dict):
            _allow_bindings(below)
            schema[keyword] = _or_binding(below)
