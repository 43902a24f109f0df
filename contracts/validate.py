"""A document against the models: every pydantic error as a finding with key, place, expected and found."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .document import Document
from .finding import Finding
from .key import Key, format_key
from .model import Contract
from .problems import INVALID_VALUE, MISSING_KEY, UNKNOWN_KEY
from .suggest import did_you_mean, nearest
from .unfit import expected, found, looks_otherwise

_ABSENT = object()
_EMPTY = '""'
_UNSEEN = "\u00a0\u2007\u202f\u3000"
_QUOTED = re.compile(r"'([^']*)'")


def validate(document: Document) -> tuple[Contract | None, list[Finding]]:
    """The contract, or None and one finding for every key that does not fit the models.

    Keys that reading has already judged (`extends`, bindings without a value) give no second finding; where a file of
    the contract is missing, absent keys give none either.
    """
    try:
        return Contract.model_validate(document.data), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    judged: list[Key] = [("extends",), *(key for key, binding in document.bindings.items() if not binding.found)]
    grouped = _group((_real_key(detail, document), detail) for detail in details)
    findings = []
    for key, errors in grouped.items():
        if any(key[: len(done)] == done for done in judged):
            continue
        if errors[0]["type"] == "missing" and not document.complete:
            continue
        findings.append(_finding(key, errors, document))
    return None, _fold_renamed(findings)


def _fold_renamed(findings: list[Finding]) -> list[Finding]:
    """A required key that is absent because it is misspelled is a consequence of the unknown key beside it."""
    renamed = {
        (str(finding.key).rpartition(".")[0], finding.expected): finding.fingerprint
        for finding in findings
        if finding.code == UNKNOWN_KEY.code
    }
    folded = []
    for finding in findings:
        owner, _, name = str(finding.key).rpartition(".")
        cause = renamed.get((owner, name)) if finding.code == MISSING_KEY.code else None
        folded.append(finding if cause is None else replace(finding, caused_by=cause))
    return folded


def _group(errors: Iterable[tuple[Key, ErrorDetails]]) -> dict[Key, list[ErrorDetails]]:
    """Errors by key. A union tells every branch: an error on a value says nothing where a deeper one exists."""
    grouped: dict[Key, list[ErrorDetails]] = {}
    for key, detail in errors:
        grouped.setdefault(key, []).append(detail)
    deeper = {key[:length] for key in grouped for length in range(len(key))}
    return {key: found for key, found in grouped.items() if key not in deeper or found[0]["type"] == "extra_forbidden"}


def _real_key(detail: ErrorDetails, document: Document) -> Key:
    """The key in the document: pydantic's path without the names of union branches."""
    key: list[str | int] = []
    value: Any = document.data
    path = detail["loc"]
    for index, part in enumerate(path):
        below = _ABSENT if key == ["model"] and index == 1 else _item(value, part)
        if below is not _ABSENT:
            key.append(part)
            value = below
        elif detail["type"] == "missing" and index == len(path) - 1:
            key.append(part)
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        key.append("kind")
    return tuple(key)


def _item(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(part, _ABSENT)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return _ABSENT


def _finding(key: Key, errors: list[ErrorDetails], document: Document) -> Finding:
    spelled, place = format_key(key), document.place(key)
    kind = errors[0]["type"]
    if kind in ("missing", "union_tag_not_found"):
        *parents, name = key
        owner = f"`{format_key(tuple(parents))}`" if parents else "the contract"
        description = fields_at(tuple(parents), {}).get(str(name)) or None
        return MISSING_KEY.at(
            place, f"{owner} has no `{name}`", key=spelled, expected=description, help=f"add `{name}`"
        )
    if kind == "extra_forbidden":
        return _unknown(key, document)
    there = found(errors[0])
    wanted = " or ".join(dict.fromkeys(expected(error) for error in errors))
    help_line = None
    words = _QUOTED.findall(wanted)
    if words and isinstance(errors[0]["input"], (str, dict)):
        near = nearest(there, words)
        help_line = f"did you mean `{near}`?" if near else None
    if looks_otherwise(errors[0]["input"]):
        help_line = "leave out the quotes"
    return INVALID_VALUE.at(
        place,
        f"`{spelled}` must be {wanted}, found {there}",
        key=spelled,
        expected=wanted,
        found=there,
        help=help_line,
        evidence=document.bound_by(key),
    )


def _unknown(key: Key, document: Document) -> Finding:
    name = str(key[-1])
    siblings = set(fields_at(key[:-1], document.data))
    near = nearest(name, siblings)
    before, colon, _ = name.partition(":")
    odd = next((character for character in name if not character.isprintable() or character in _UNSEEN), None)
    elsewhere = [format_key((*path, name)) for path in _section_paths() if name in fields_at(path, {})]
    if odd is not None:
        help_line = f"it holds the character U+{ord(odd):04X}, which cannot be seen or looks like a blank: delete it"
    elif colon and before in siblings:
        help_line = f"write a blank behind the colon: `{before}: ...`"
    elif near is None and elsewhere:
        help_line = f"`{name}` belongs to `{elsewhere[0].rpartition('.')[0] or 'the top level'}`"
    else:
        help_line = did_you_mean(name, siblings)
    owner = f"`{format_key(key[:-1])}`" if len(key) > 1 else "a contract"
    return UNKNOWN_KEY.at(
        document.place(key),
        f"{owner} has no key `{name or _EMPTY}`",
        key=format_key(key),
        expected=near,
        found=name or _EMPTY,
        help=help_line,
    )


def _section_paths() -> list[Key]:
    return [(), *((name,) for name in Contract.model_fields)]


def fields_at(key: Key, data: Any) -> dict[str, str]:
    """Names and descriptions of the keys a contract may have at a place; empty where names are free or values plain.

    `data` chooses between the kinds of a section (`model.kind`).
    """
    options: list[Any] = [Contract]
    for part in key:
        data = _item(data, part)
        options = [below for option in options for below in _below(option, part)]
    models = [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]
    kind = data.get("kind") if isinstance(data, dict) else None
    tagged = [model for model in models if "kind" in model.model_fields]
    chosen = [model for model in tagged if kind in get_args(model.model_fields["kind"].annotation)]
    return {
        field.alias or name: field.description or ""
        for model in chosen or models
        for name, field in model.model_fields.items()
    }


def _below(option: Any, part: str | int) -> list[Any]:
    """The types a value under `part` can have; unions and annotations are taken apart."""
    if isinstance(option, type) and issubclass(option, BaseModel):
        field = option.model_fields.get(str(part))
        return [] if field is None else _alternatives(field.annotation)
    arguments = get_args(option)
    if get_origin(option) is dict and isinstance(part, str):
        return _alternatives(arguments[1])
    if get_origin(option) is list and isinstance(part, int):
        return _alternatives(arguments[0])
    return []


def _alternatives(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        return [one for argument in get_args(annotation) for one in _alternatives(argument)]
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    return [annotation]
