"""A contract's data as YAML that a person likes to read: short mappings on one line, comments where review is due."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

_WIDTH = 100


def contract_text(found: dict[str, Any], notes: Sequence[str], entry: str, target: str) -> str:
    """The YAML document; `notes` stand at its head as comments."""
    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 4096
    stream = io.StringIO()
    yaml.dump(_shaped(found), stream)
    head = [
        f"# What {entry} does on {target}, written down by `contract-lint init`.",
        "# Every value was found, none was confirmed: read it, change what was not meant, and delete the `review:` keys.",
        *(f"# Not promised - {note}." for note in notes),
    ]
    return "\n".join(head) + "\n\n" + stream.getvalue()


def _shaped(value: Any, depth: int = 0) -> Any:
    """Containers with only plain values, and short enough, in flow style."""
    if isinstance(value, dict):
        mapping = CommentedMap((key, _shaped(item, depth + 1)) for key, item in value.items())
        if depth and _is_short(value):
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq(_shaped(item, depth + 1) for item in value)
        if _is_short(value):
            sequence.fa.set_flow_style()
        return sequence
    return value


def _is_short(value: dict[str, Any] | list[Any]) -> bool:
    items = list(value.values()) if isinstance(value, dict) else value
    plain = all(not isinstance(i, dict) and not (isinstance(i, list) and any(isinstance(j, (dict, list)) for j in i)) for i in items)
    return plain and len(str(value)) <= _WIDTH
