"""Protocol-buffer wire format, read without generated classes or a protobuf runtime.

Encoding: https://protobuf.dev/programming-guides/encoding/. A message is a run of (tag, value) pairs; nested messages
stay spans of the one buffer, so nothing is copied and nothing is decoded before somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from

from ..contracts.errors import ContractLintError

VARINT, FIXED64, SPAN, FIXED32 = 0, 1, 2, 5
_MASK64 = (1 << 64) - 1
_SIGN = 1 << 63

Field = tuple[int, int, int, int]
"""(field number, wire type, a, b): the bounds of a length-delimited value; else the number and the place of its tag."""


class WireError(ContractLintError):
    """Bytes that are not a protocol buffer; `offset` is the byte at fault, from the start of the buffer."""

    def __init__(self, what: str, offset: int) -> None:
        self.offset = offset
        super().__init__(f"not a readable protocol buffer: {what} at byte {offset}")


def varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The unsigned number at `position` and the position behind it. At most ten bytes, never past `end`."""
    result = shift = 0
    start = position
    while True:
        if position >= end:
            raise WireError("a number is cut off", start)
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & _MASK64, position
        shift += 7
        if shift >= 70:
            raise WireError("a number is longer than ten bytes", start)


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message in `data[start:end]`, in the order they stand.

    Unknown fields are yielded like any other. Raises WireError on cut-off values, lengths that leave the message, field
    number 0 and the deprecated group types.
    """
    stop = len(data) if end is None else end
    position = start
    while position < stop:
        at = position
        tag = data[position]
        position += 1
        if tag >= 0x80:
            # Field numbers and lengths of two bytes are frequent enough to be read here.
            if position < stop and (high := data[position]) < 0x80:
                tag += (high - 1) << 7
                position += 1
            else:
                tag, position = varint(data, at, stop)
        number, kind = tag >> 3, tag & 7
        if number == 0 or number > 0x1FFFFFFF:
            raise WireError(f"field number {number} cannot be", at)
        if kind in (VARINT, SPAN):
            if position >= stop:
                raise WireError("a field has no value", at)
            value = data[position]
            position += 1
            if value >= 0x80:
                if position < stop and (high := data[position]) < 0x80:
                    value += (high - 1) << 7
                    position += 1
                else:
                    value, position = varint(data, position - 1, stop)
            if kind == VARINT:
                yield number, kind, value, at
                continue
            behind = position + value
            if behind > stop:
                raise WireError(f"field {number} claims {value} bytes, {stop - position} are left", at)
            yield number, kind, position, behind
            position = behind
        elif kind in (FIXED64, FIXED32):
            width = 8 if kind == FIXED64 else 4
            if position + width > stop:
                raise WireError("a fixed-width number is cut off", at)
            yield number, kind, unpack_from("<Q" if width == 8 else "<I", data, position)[0], at
            position += width
        else:
            raise WireError(f"wire type {kind} is not in use", at)


def signed(value: int) -> int:
    """A varint read as int32 or int64 (two's complement over 64 bits)."""
    return value - (1 << 64) if value >> 63 else value


def integers(data: bytes, field: Field) -> list[int]:
    """A repeated integer field, packed or one at a time, as signed numbers."""
    _, kind, first, end = field
    if kind == VARINT:
        return [signed(first)]
    if kind != SPAN:
        raise WireError("a list of integers has a fixed width", end)
    values = []
    position = first
    while position < end:
        value = data[position]
        if value < 0x80:
            position += 1
        else:
            value, position = varint(data, position, end)
        values.append(value if value < _SIGN else value - _SIGN - _SIGN)
    return values


def span(field: Field) -> tuple[int, int]:
    """The bounds of a length-delimited field. Raises WireError where the field is a number."""
    if field[1] != SPAN:
        raise WireError(f"field {field[0]} is a number, not a message or text", field[3])
    return field[2], field[3]


def number(field: Field) -> int:
    """The unsigned value of a numeric field. Raises WireError where it is length-delimited."""
    if field[1] == SPAN:
        raise WireError(f"field {field[0]} is a message or text, not a number", field[2])
    return field[2]


def text(data: bytes, field: Field) -> str:
    """A string field; bytes that are not UTF-8 become U+FFFD."""
    start, end = span(field)
    return data[start:end].decode("utf-8", "replace")
