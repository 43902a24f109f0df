"""Metrics of a run from its files: a JSON object a line (one for each step), or one JSON object of numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ....contracts.errors import ContractLintError
from ....contracts.finding import Location
from ....contracts.json_once import TwiceError, once
from ....contracts.record import Metric, summarised
from ....linters.cut import in_a_line

MAX_BYTES = 256 * 1024**2
MOST_NAMES = 2_000
_DEEPEST = 8
_NAMED = 4
"""Names that one sentence tells."""
_STEP = "step"
_COUNTERS = frozenset((_STEP, "time", "timestamp", "epoch"))
"""Keys that say where a line belongs, not what was measured."""
_HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: JSON can escape one, no text can hold it."""
_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf, "-infinity": -math.inf}
Tell = Callable[[str], None]


def read_metrics(data: bytes, shown: str, tell: Tell = lambda _: None) -> dict[str, Metric]:
    """The metrics in the bytes of a file. Nested objects give names with dots; what is no number is left out.

    NaN and Infinity are taken as Python and JavaScript write them. `tell` is told what was left out, and where steps go
    backwards. Raises ContractLintError, with the line.
    """
    if len(data) > MAX_BYTES:
        raise ContractLintError(f"has more than {MAX_BYTES:,} bytes", Location(shown))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ContractLintError(f"byte 0x{data[error.start]:02x} is not UTF-8", Location(shown, line)) from error
    rows = _whole(text, shown) if text.lstrip().startswith("{") else None
    found = _Columns()
    steps = _Steps()
    for line, row in rows if rows is not None else _lines(text, shown):
        steps.see(line, row.get(_STEP))
        twice = found.add(row)
        if twice is not None:
            said = f"the name `{twice[:80]}` stands twice in one row: with a dot, and nested"
            raise ContractLintError(said, Location(shown, line), "one of the two is lost: give it another name")
    for said in (*steps.said(shown), *found.said(shown)):
        tell(said)
    return found.metrics(shown)


def columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, Metric]:
    """Each name with what its values over all rows sum up to."""
    found = _Columns()
    for row in rows:
        found.add(row)
    return found.metrics(None)


class _Columns:
    """The values of each name, and of what was left out why."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}
        self._odd: dict[str, tuple[str, int]] = {}
        self._beyond: set[str] = set()

    def add(self, row: Mapping[str, Any]) -> str | None:
        """Take a row in; the name of which it has two numbers, where there is one."""
        seen: set[str] = set()
        for name, value in _leaves(row, ""):
            if name in seen:
                return name
            seen.add(name)
            if isinstance(value, str):
                self._odd[name] = (value, self._odd.get(name, ("", 0))[1] + 1)
            elif name in self._values or len(self._values) < MOST_NAMES:
                self._values.setdefault(name, []).append(value)
            elif len(self._beyond) < MOST_NAMES:
                self._beyond.add(name)
        return None

    def metrics(self, source: str | None) -> dict[str, Metric]:
        return {name: summarised(found, source) for name, found in sorted(self._values.items())}

    def said(self, shown: str) -> Iterator[str]:
        """A sentence for each kind of thing that was left out."""
        never = [f"{name} ({what})" for name, (what, _) in self._odd.items() if name not in self._values]
        if never:
            yield f"{shown}: left out, being no numbers: {in_a_line(never, _NAMED)}"
        partly = [
            f"{name} in {count:,} of {count + len(self._values[name]):,} rows ({what})"
            for name, (what, count) in self._odd.items()
            if name in self._values
        ]
        if partly:
            yield f"{shown}: left out where they are no numbers: {in_a_line(partly, _NAMED)}"
        if self._beyond:
            more = "at least " if len(self._beyond) == MOST_NAMES else ""
            yield f"{shown}: has more than {MOST_NAMES:,} names; {more}{len(self._beyond):,} of them are left out"


class _Steps:
    """Whether the steps of rows go forward."""

    def __init__(self) -> None:
        self._before: float | None = None
        self._first: tuple[int | None, float, float] | None = None
        self._count = 0

    def see(self, line: int | None, step: object) -> None:
        if isinstance(step, bool) or not isinstance(step, int | float):
            return
        if self._before is not None and step < self._before:
            self._count += 1
            self._first = self._first or (line, step, self._before)
        self._before = step

    def said(self, shown: str) -> Iterator[str]:
        if self._first is not None:
            line, step, before = self._first
            more = f", and {self._count - 1:,} more such" if self._count > 1 else ""
            yield (
                f"{Location(shown, line)}: step {step:,} comes after step {before:,}{more}: rows are taken as they "
                "stand, so steps that a run did twice count twice"
            )


def _whole(text: str, shown: str) -> list[tuple[int | None, Mapping[str, Any]]] | None:
    """One object over the whole text; None where it is one a line."""
    try:
        found = json.loads(text, object_pairs_hook=once)
    except TwiceError as error:
        # In the first of many lines, if each is an object: then the line is found below.
        if _is_one(text):
            raise ContractLintError(_twice(error), Location(shown)) from None
        return None
    except (ValueError, RecursionError):
        return None
    return [(None, found)] if isinstance(found, dict) else None


def _is_one(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return "\n" in text.strip()


def _lines(text: str, shown: str) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line, object_pairs_hook=once)
        except TwiceError as error:
            help = "one of the two is lost: write each name once"
            raise ContractLintError(_twice(error), Location(shown, number), help) from None
        except (ValueError, RecursionError):
            said = "is neither a JSON object a line nor one JSON object"
            raise ContractLintError(said, Location(shown, number)) from None
        if not isinstance(found, dict):
            raise ContractLintError("a JSON object is expected on each line", Location(shown, number))
        yield number, found


def _twice(error: TwiceError) -> str:
    return f"the key `{error.key[:80]}` stands twice in one object"


def _leaves(row: Mapping[str, Any], above: str, depth: int = 0) -> Iterator[tuple[str, float | str]]:
    """Each name with its number, or the word for what it is instead."""
    for name, value in row.items():
        path = f"{above}.{name}" if above else str(name)
        if _HALF.search(path):
            yield path.encode("ascii", "backslashreplace").decode(), "with half a character in its name"
            continue
        if isinstance(value, dict):
            if depth < _DEEPEST:
                yield from _leaves(value, path, depth + 1)
            else:
                yield path, f"nested more than {_DEEPEST} deep"
        elif path in _COUNTERS:
            continue
        elif isinstance(value, bool):
            yield path, "true or false"
        elif isinstance(value, int | float):
            yield path, _float(value)
        elif isinstance(value, str):
            yield path, _WORDS.get(value.lower(), "text")
        else:
            yield path, "null" if value is None else "a list"


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
