"""Keys that differ between configurations, on one line where all of a section is there or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...contracts.key import format_key, parse_key
from ...contracts.record import canonical
from .printable import plural

Row = tuple[str, tuple[Any, ...]]
"""A key, and its value in each configuration; None: it has none."""


def folded(rows: Sequence[Row], configs: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The rows; those of a section that some of `configs` have, alike, and the others have nothing of, as one.

    `configs`: every value by its key.
    """
    held = [_sections(config) for config in configs]
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_whole(row, held), []).append(row)
    found: list[Row] = []
    for section, group in groups.items():
        have = {tuple(value is not None for value in values) for _, values in group}
        alike = all(len({canonical(value) for value in values if value is not None}) == 1 for _, values in group)
        if len(group) == 1 or len(have) > 1 or not alike:
            found += group
        else:
            found.append((section, tuple(f"({plural(len(group), 'key')})" if each else None for each in have.pop())))
    return found


def _sections(config: Mapping[str, Any]) -> set[str]:
    """Every section and every key of a configuration."""
    parts = map(parse_key, config)
    return {format_key(key[:length]) for key in parts for length in range(1, len(key) + 1)}


def _whole(row: Row, held: Sequence[Collection[str]]) -> str:
    """The largest section with this key of which those that do not have the key have nothing; the key, if none."""
    key = parse_key(row[0])
    absent = [sections for value, sections in zip(row[1], held, strict=True) if value is None]
    lengths = range(1, len(key)) if absent else ()
    names = (format_key(key[:length]) for length in lengths)
    return next((name for name in names if not any(name in sections for sections in absent)), row[0])
