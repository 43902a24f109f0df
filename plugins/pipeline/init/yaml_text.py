"""A drafted contract as YAML that people read: small maps on one line, a comment at every section."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

COMMENTS = {
    "contract": "Written by `contract-lint init` from what the step does today. Read each promise; keep or tighten it.",
    "mesh": "Axis -> size, outermost first.",
    "model": "The parameters as found, for exact state bytes.",
    "dtypes": "Parameters, matrix products, optimizer slots.",
    "batch": "The global batch and the mesh axes it is split over.",
    "optimizer": "Slots as found; adam and adamw keep the same ones.",
    "parameters": "First match wins; a pattern is matched against the end of a path. null is not split.",
    "collectives": "One step, loops multiplied. Remove `review` once a person knows why each is there.",
    "memory": "What must fit on one device: as found and a tenth of headroom, but no more than it gives; in whole MiB.",
    "graph": "What the traced program may hold.",
    "deviations": "Findings on the step as it is. Mend them, or say why they are right.",
}
CHECKPOINT = "# With `checkpoint: {}`, `checkpoint check` holds saved steps to this contract: see docs/checkpoints.md."
LONGEST_FLOW = 100
_PLAIN = re.compile(r"[\w./(|)]([\w./(|):+ -]*[\w./(|)])?")


def yaml_text(data: dict[str, Any], notes: Sequence[str] = ()) -> str:
    """The contract as text, with a comment at the end for each of `notes`; loading it gives `data` back."""
    yaml = YAML()
    yaml.width = 1_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    top = CommentedMap()
    for key, value in data.items():
        top[key] = _node(value, LONGEST_FLOW - len(key) - 2)
        if key in COMMENTS:
            top.yaml_set_comment_before_after_key(key, before=("" if key == "contract" else "\n") + COMMENTS[key])
    out = io.StringIO()
    yaml.dump(top, out)
    more = ["", CHECKPOINT] if {"model", "optimizer"} <= set(data) and "checkpoint" not in data else []
    left_out = ["", "# Left out:"] * bool(notes)
    left_out += [f"#   {''.join(c for c in ' '.join(note.split()) if c.isprintable())}" for note in notes]
    return "\n".join([*(line.rstrip() for line in out.getvalue().splitlines()), *more, *left_out]) + "\n"


def _node(value: Any, room: int) -> Any:
    """Nested data as nodes: in flow style where that fits into `room` characters and nothing in it is nested twice."""
    if isinstance(value, dict):
        mapping = CommentedMap((_scalar(key), _node(each, room - 2 - len(str(key)))) for key, each in value.items())
        return _flow(mapping, value, room)
    if isinstance(value, (list, tuple)):
        sequence = CommentedSeq(_node(each, room - 4) for each in value)
        return _flow(sequence, value, room)
    return _scalar(value)


def _scalar(value: Any) -> Any:
    """Strings with anything unusual in them in quotes: ruamel.yaml writes `: a` plain where it cannot be read back."""
    unusual = isinstance(value, str) and _PLAIN.fullmatch(value) is None
    return DoubleQuotedScalarString(value) if unusual else value


def _flow(node: Any, value: Any, room: int) -> Any:
    if value and len(str(value)) <= room and _depth(value) <= 2:
        node.fa.set_flow_style()
    return node


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, (list, tuple)) else 0
