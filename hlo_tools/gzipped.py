"""gzip data unpacked piece by piece: a size no program has is refused as soon as it shows, not after unpacking."""

from __future__ import annotations

import zlib

from ..contracts.errors import ContractLintError
from ..contracts.finding import Location

MAGIC = b"\x1f\x8b"
PIECE = 1 << 24
RATIO = 200
"""Unpacked over packed bytes. Programs, which repeat themselves much, come to 5 to 60; DEFLATE itself ends at 1032."""
RATIO_FROM = 1 << 26
"""Bytes from which the ratio counts: below, nothing that is unpacked does harm."""


def unpack(data: bytes, location: Location, limit: int) -> bytes:
    """The unpacked bytes of all gzip members in `data`, at most `limit`.

    Raises ContractLintError for damaged or cut-off data, for other bytes behind the last member, for more than `limit`
    bytes and, from 64 MiB on, for more than 200 times the packed size. Linear in what is unpacked until then.
    """
    pieces: list[bytes] = []
    total = 0
    rest = data
    while True:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                piece = member.decompress(rest, PIECE)
            except zlib.error as error:
                raise ContractLintError(f"the gzip data are damaged: {error}", location) from None
            rest = member.unused_data if member.eof else member.unconsumed_tail
            if not piece and not member.eof and not rest:
                raise ContractLintError("the gzip data are cut off", location)
            total += len(piece)
            pieces.append(piece)
            _bounded(total, len(data), location, limit)
        if not rest:
            return b"".join(pieces)
        if not rest.startswith(MAGIC):
            raise ContractLintError("there are bytes behind the end of the gzip data", location)


def _bounded(total: int, packed: int, location: Location, limit: int) -> None:
    if total > limit:
        raise ContractLintError(f"unpacks to more than {_size(limit)}", location)
    if total > RATIO_FROM and total > RATIO * packed:
        raise ContractLintError(f"unpacks to more than {RATIO} times its {_size(packed)}: no program does", location)


def _size(count: int) -> str:
    return f"{count >> 30} GiB" if count >= 1 << 30 and count % (1 << 30) == 0 else f"{count} bytes"
