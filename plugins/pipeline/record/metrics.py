"""Metrics of a run from its files: a JSON object a line (one for each step), or one JSON object of numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....contracts.record import Metric, summarised

MAX_BYTES = 256 * 1024**2
MOST_NAMES = 2_000
_COUNTERS = frozenset(("step", "time", "timestamp", "epoch"))
"""Keys that say where a line belongs, not what was measured."""
_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}


def read_metrics(data: bytes, shown: str) -> dict[str, Metric]:
    """The metrics in the bytes of a file. Nested objects give names with dots; what is no number is passed over.

    NaN and Infinity are taken as Python and JavaScript write them. Raises ContractLintError, with the line.
    """
    if len(data) > MAX_BYTES:
        raise ContractLintError(f"has more than {MAX_BYTES:,} bytes", Location(shown))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ContractLintError(f"byte 0x{data[error.start]:02x} is not UTF-8", Location(shown, line)) from error
    rows = _whole(text) if text.lstrip().startswith("{") else None
    return columns(rows if rows is not None else _lines(text, shown), shown)


def columns(rows: Iterable[Mapping[str, Any]], source: str | None = None) -> dict[str, Metric]:
    """Each name with what its values over all rows sum up to."""
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in _numbers(row, ""):
            if name in values or len(values) < MOST_NAMES:
                values.setdefault(name, []).append(value)
    return {name: summarised(found, source) for name, found in sorted(values.items())}


def _whole(text: str) -> list[Mapping[str, Any]] | None:
    """One object over the whole text; None where it is one a line."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [found] if isinstance(found, dict) else None


def _lines(text: str, shown: str) -> Iterable[Mapping[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            said = "is neither a JSON object a line nor one JSON object"
            raise ContractLintError(said, Location(shown, number)) from None
        if not isinstance(found, dict):
            raise ContractLintError("a JSON object is expected on each line", Location(shown, number))
        yield found


def _numbers(row: Mapping[str, Any], above: str, depth: int = 0) -> Iterable[tuple[str, float]]:
    for name, value in row.items():
        path = f"{above}.{name}" if above else str(name)
        if isinstance(value, dict) and depth < 8:
            yield from _numbers(value, path, depth + 1)
        elif path in _COUNTERS or isinstance(value, bool):
            continue
        elif isinstance(value, int | float):
            yield path, _float(value)
        elif isinstance(value, str) and value.lower() in _WORDS:
            yield path, _WORDS[value.lower()]


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
