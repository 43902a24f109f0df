"""What the metadata of an array says, in either version of zarr: dtype, chunks, and how each chunk lies on disk."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coding:
    """How a chunk lies on disk: as it is, behind one compressor, or in parts with an index at the end."""

    raw: bool = False
    compressor: str | None = None
    inner: int = 0
    """Parts, where the index can be read; 0 where there is none."""
    summed: bool = True
    """Whether a sum of four bytes ends the index."""
    part: int | None = None
    """Bytes of each part, where parts lie as they are."""
    unusual: str = ""
    """An order of bytes or elements that readers know and Orbax never writes."""


@dataclass(frozen=True, slots=True)
class Described:
    """`item` is the bytes of an element, None where several share one; `prefix` what keys of chunks begin with."""

    dtype: str
    item: int | None
    chunks: tuple[int, ...]
    separator: str
    prefix: tuple[str, ...]
    coding: Coding
    dense: bool = False
    """Whether chunks that hold only the fill value are stored too: there is none to compare with."""
