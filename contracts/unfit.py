"""What pydantic says of a value that does not fit, in words: what is expected, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .key import format_key
from .yaml_nodes import resolve_scalar

_EXPECTED = {
    "string_type": "text",
    "string_unicode": "text in which every character is whole",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "null",
    "date_from_datetime_parsing": "a date such as 2027-03-01",
    "date_parsing": "a date such as 2027-03-01",
    "date_type": "a date such as 2027-03-01",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("below", "lt"),
}
_SHORT = 60


def unfit(error: ValidationError, above: tuple[str | int, ...] = (), forms: Mapping[str, str] | None = None) -> str:
    """The first thing that does not fit, as a sentence. `above` is where the data lies, `forms` says of patterns what
    they are the form of."""
    first = error.errors(include_url=False)[0]
    key = format_key((*above, *first["loc"]))[:120]
    if first["type"] == "json_invalid":
        return f"is no JSON: {first.get('ctx', {}).get('error', '')}"
    if first["type"] == "missing":
        return f"`{key}` is missing"
    if first["type"] == "extra_forbidden":
        return f"the key `{key}` is not known"
    pattern = first.get("ctx", {}).get("pattern")
    wanted = (forms or {}).get(pattern, "") if pattern else ""
    must = wanted or expected(first)
    return f"`{key}` must be {must}, found {found(first)}" if key else f"must be {must}, found {found(first)}"


def expected(error: ErrorDetails) -> str:
    """What would fit."""
    context = error.get("ctx", {})
    kind = error["type"]
    if kind == "literal_error":
        return str(context["expected"])
    if kind == "union_tag_invalid":
        return str(context["expected_tags"]).replace(", ", " or ")
    if kind in _BOUNDS:
        words, name = _BOUNDS[kind]
        return f"{words} {context[name]}"
    if kind == "value_error":
        text = str(context["error"])
        return text.removeprefix("expected ") if text.startswith("expected ") else f"usable ({text})"
    if kind == "too_short":
        return f"at least {context['min_length']} entry"
    if kind == "string_too_short":
        return "text that is not empty"
    if kind == "string_too_long":
        return f"text of at most {context['max_length']:,} characters"
    if kind == "string_pattern_mismatch":
        return f"text of the form {context['pattern']}"
    return _EXPECTED.get(kind, error["msg"][:1].lower() + error["msg"][1:])


def found(error: ErrorDetails) -> str:
    """What is there, cut to a line."""
    value = error["input"] if error["type"] != "union_tag_invalid" else error.get("ctx", {})["tag"]
    if error["type"] == "string_too_long":
        return f"{len(value):,}"
    return short(value)


def short(value: Any) -> str:
    """A value as it would be written, cut to a line."""
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        if not value:
            return "an empty list"
        if len(value) > _SHORT or not all(map(_is_plain, value)):
            return "a list"
        written = f"[{', '.join(map(short, value))}]"
        return f"the list {written}" if len(written) <= _SHORT else f"a list of {len(value)}"
    if value is None:
        return "null"
    if value == "":
        return "empty text"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."
    return f'the text "{text}"' if looks_otherwise(value) else text


def _is_plain(value: Any) -> bool:
    return not isinstance(value, (dict, list))


def looks_otherwise(value: Any) -> bool:
    """Whether a text would be a number, true or false without its quotes."""
    return isinstance(value, str) and len(value) <= _SHORT and not isinstance(resolve_scalar(value), str)
