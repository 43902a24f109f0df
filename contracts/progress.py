"""The progress record: where in which data a run stands. One is saved beside each checkpoint.

A cursor alone is a number or two, and any pipeline takes it; what it was a place in has to be written beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .errors import ContractLintError
from .finding import Location
from .json_nodes import MAX_BYTES, parse_json
from .yaml_nodes import Node, Source, plain

PROGRESS_FIELDS: Mapping[str, str] = {
    "step": "finished steps",
    "tokens": "tokens that all steps together were given",
    "sources": "for each source its records, tokens and epoch so far",
    "cursor": "the loader's own state, as JSON",
    "dataset": "root of the data manifest",
    "tokenizer": "sha256 of the tokenizer's files",
    "mixture": "source -> weight",
    "seed": "seed of the sampler",
    "sampler": "how records are ordered; for grain, a line for each stage of the pipeline",
    "batch": "sequences in the global batch",
    "shards": "processes that the data is divided among",
    "prefetch": "batches that are read ahead",
}
IDENTITY = ("dataset", "tokenizer", "mixture", "seed", "sampler", "batch", "shards")
"""What a cursor is a place in: under another of these it means something else."""
MAX_RECORDS = 10_000


@dataclass(frozen=True)
class Progress:
    """One record. A field that was not written is not in `fields`."""

    node: Node
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The file it stands in."""
        return self.node.source.name

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Fields that are not there, or null."""
        return tuple(name for name in PROGRESS_FIELDS if self.fields.get(name) is None)

    def place(self, field: str) -> Location:
        """Where a field stands; the record where it has none."""
        found = self.node.value.get(field) if isinstance(self.node.value, dict) else None
        return found.location if found is not None else self.node.place


def read_progress(path: str | Path) -> tuple[Progress, ...]:
    """The records of a file: one JSON value, or one a line. A value that has no `cursor` is taken for a cursor alone,
    unless it has `step`.

    Raises ContractLintError, with the place, for what cannot be read.
    """
    source = Source(Path(path), Path(path).as_posix())
    try:
        data = source.path.read_bytes()[: MAX_BYTES + 1]
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ContractLintError(f"cannot be read: {error.strerror or error}", Location(source.name)) from error
    except UnicodeDecodeError as error:
        raise ContractLintError("is not UTF-8", Location(source.name)) from error
    if len(data) > MAX_BYTES:
        raise ContractLintError(f"has more than {MAX_BYTES:,} bytes", Location(source.name))
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if source.path.suffix in (".jsonl", ".ndjson"):
        if len(lines) > MAX_RECORDS:
            raise ContractLintError(f"has more than {MAX_RECORDS:,} records", Location(source.name))
        records = [_progress(parse_json(line, source, number)) for number, line in lines]
    else:
        records = [_progress(parse_json(text, source))] if lines else []
    if not records:
        raise ContractLintError("holds no record", Location(source.name), "write one as JSON beside each checkpoint")
    return tuple(records)


def _progress(node: Node) -> Progress:
    value = plain(node)
    if not isinstance(value, dict) or not {"cursor", "step"} & value.keys():
        return Progress(node, {"cursor": value})
    for name in ("step", "tokens", "batch", "shards", "prefetch"):
        number = value.get(name)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
            place = Progress(node, value).place(name)
            raise ContractLintError(f"`{name}` is {str(number)[:40]}, and must be a whole number of at least 0", place)
    return Progress(node, value)
