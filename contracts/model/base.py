"""What every section of a contract shares: unknown keys are errors, values are frozen, sizes have units."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

_UNITS = {"": 1, "B": 1}
_UNITS |= {f"{p}B": 1000**n for n, p in enumerate("kMGT", start=1)} | {"KB": 1000}
_UNITS |= {f"{p}iB": 1024**n for n, p in enumerate("KMGT", start=1)} | {"kiB": 1024}
_PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")


class Section(BaseModel):
    """A part of a contract. Values are taken as written: `true` is no number and `"4"` is no count."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def parse_bytes(value: Any) -> int:
    """`64KiB`, `16 GiB`, `1.5MB` or a plain count of bytes, as an integer number of bytes.

    Raises ValueError for anything else, with the units that are known.
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError("expected a size such as 64KiB or 16GiB")
    if isinstance(value, int):
        if value < 0:
            raise ValueError("expected a size of at least 0 bytes")
        return value
    match = _SIZE.fullmatch(value) if len(value) <= 40 else None
    if match is None or match[2] not in _UNITS:
        raise ValueError("expected a size such as 64KiB or 16GiB (units B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)")
    return round(Fraction(match[1]) * _UNITS[match[2]])


Bytes = Annotated[
    int,
    BeforeValidator(parse_bytes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?\s*[A-Za-z]*$"},
            ]
        }
    ),
]


def parse_share(value: Any) -> float:
    """`25%`, `12.5 %` or a plain number such as 0.25, as a fraction of at least 0.

    Raises ValueError for anything else.
    """
    if isinstance(value, str) and (match := _PERCENT.fullmatch(value[:40])) is not None:
        return float(Fraction(match[1]) / 100)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
        raise ValueError("expected a share such as 25% or 0.25")
    return float(value)


Share = Annotated[
    float,
    BeforeValidator(parse_share),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$"},
            ]
        }
    ),
]

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


def format_bytes(count: int) -> str:
    """A count of bytes as people read it: `1.25 GiB`, `512 B`."""
    size = float(count)
    for unit in _BINARY:
        if abs(size) < 1024 or unit == _BINARY[-1]:
            return f"{int(size)} B" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")
