"""The codecs of zarr version 3 as they follow each other, held to what TensorStore opens.

Arrays are turned (`transpose`), then become bytes once (`bytes`, or `sharding_indexed`, which has codecs of its own for
its parts), and bytes may be compressed and summed.
https://google.github.io/tensorstore/driver/zarr3/index.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

from .coding import BLOSC, LEVELS, extents, is_whole
from .described import Coding
from .folder import Folder
from .metadata import quoted, wrong

_SHARDING = "sharding_indexed"
_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")
_MOST_BLOCK = ((1 << 31) - 1 - 4 * 255) // 3
"""Bytes in a block of Blosc: its header's BLOSC_MAX_BLOCKSIZE."""
_DEEPEST = 16
"""Shards within shards; nobody writes two."""


@dataclass(frozen=True, slots=True)
class _Codec:
    name: str
    settings: Mapping[str, Any]


def _within(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: is_whole(value) and least <= value <= most


def _one_of(*values: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in values


_CODECS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "transpose": {"order": lambda value: value in ("C", "F") or isinstance(value, list)},
    "bytes": {"endian": _one_of("little", "big")},
    _SHARDING: {
        "chunk_shape": lambda value: isinstance(value, list),
        "codecs": lambda value: isinstance(value, list),
        "index_codecs": lambda value: isinstance(value, list),
        "index_location": _one_of("start", "end"),
    },
    "zstd": {"level": _within(*LEVELS["zstd"]["level"]), "checksum": lambda value: isinstance(value, bool)},
    "gzip": {"level": _within(*LEVELS["gzip"]["level"])},
    "blosc": {
        "cname": _one_of(*BLOSC),
        "clevel": _within(0, 9),
        "shuffle": _one_of(*_SHUFFLES),
        "typesize": _within(1, 255),
        "blocksize": _within(0, _MOST_BLOCK),
    },
    "crc32c": {},
}
"""Codec -> its settings, each with whether TensorStore takes a value."""
_OPTIONAL = {("bytes", "endian"), (_SHARDING, "index_location"), ("zstd", "checksum")}
_TO_BYTES = ("bytes", _SHARDING)


@dataclass(frozen=True, slots=True)
class _Reader:
    folder: Folder
    path: str

    def wrong(self, value: Any, why: str) -> NoReturn:
        wrong(self.folder, self.path, f"`codecs` has {quoted(value)}, {why}")

    def codec(self, value: Any) -> _Codec:
        """One codec, its settings held to the table."""
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            self.wrong(value, "which is no codec with a `name`")
        settings = value.get("configuration", {})
        known = _CODECS.get(value["name"])
        if known is None:
            self.wrong(value, f"and Orbax reads {', '.join(sorted(_CODECS))}")
        if not isinstance(settings, dict) or value.keys() - {"name", "configuration"}:
            self.wrong(value, "and a codec has a `name` and a `configuration`")
        for key, setting in settings.items():
            if key not in known or not known[key](setting):
                self.wrong(value, f"and Orbax does not read that `{key}`")
        for key in known:
            unneeded = key == "typesize" and settings.get("shuffle") == "noshuffle"
            if key not in settings and (value["name"], key) not in _OPTIONAL and not unneeded:
                self.wrong(value, f"which has no `{key}`")
        return _Codec(value["name"], settings)

    def chain(self, value: Any, shape: tuple[int, ...], width: int, deep: int = 0) -> list[_Codec]:
        """Codecs for an array of this shape, whose elements take `width` bytes."""
        if not isinstance(value, list):
            wrong(self.folder, self.path, f"`codecs` is {quoted(value)}, not a list of codecs")
        codecs = [self.codec(each) for each in value]
        at = next((n for n, each in enumerate(codecs) if each.name in _TO_BYTES), None)
        if at is None:
            wrong(self.folder, self.path, f"`codecs` is {quoted(value)}, of which none makes bytes of an array")
        for number, each in enumerate(codecs):
            if number < at and each.name != "transpose":
                self.wrong(value[number], f"which is for bytes, before {codecs[at].name}")
            if number > at and (each.name in ("transpose", *_TO_BYTES) or codecs[at].name == _SHARDING):
                self.wrong(value[number], f"which cannot follow {codecs[at].name}")
        for number in range(at):
            shape = self.turned(value[number], codecs[number].settings["order"], shape)
        if codecs[at].name == "bytes" and width > 1 and "endian" not in codecs[at].settings:
            self.wrong(value[at], f"which has no `endian` for elements of {width} bytes")
        if codecs[at].name == _SHARDING:
            self.parts(value[at], codecs[at].settings, shape, width, deep)
        return codecs

    def turned(self, value: Any, order: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
        if order in ("C", "F"):
            return shape if order == "C" else shape[::-1]
        if not all(map(is_whole, order)) or sorted(order) != list(range(len(shape))):
            self.wrong(value, f"whose `order` is none of {len(shape)} dimensions")
        return tuple(shape[int(axis)] for axis in order)

    def parts(self, value: Any, settings: Mapping[str, Any], shape: tuple[int, ...], width: int, deep: int) -> None:
        """A shard: it is cut evenly, and its index is as long whatever it holds."""
        if deep == _DEEPEST:
            wrong(self.folder, self.path, "`codecs` has shards within shards, too deep to be read")
        inner = extents(self.folder, self.path, "chunk_shape", settings["chunk_shape"])
        fit = len(inner) == len(shape) and 0 not in inner
        if not fit or any(chunk % part for chunk, part in zip(shape, inner, strict=True)):
            wrong(self.folder, self.path, f"chunks of {list(shape)} cannot be cut in parts of {list(inner)}")
        self.chain(settings["codecs"], inner, width, deep + 1)
        index = (*(chunk // part for chunk, part in zip(shape, inner, strict=True)), 2)
        chain = self.chain(settings["index_codecs"], index, 8, deep + 1)
        if any(each.name in ("zstd", "gzip", "blosc") for each in chain):
            self.wrong(value, "whose index is compressed")


def coding_of(folder: Folder, path: str, value: Any, chunks: tuple[int, ...], width: int) -> Coding:
    """What the list of codecs of an array says. Raises ContractLintError for one that TensorStore does not open."""
    codecs = _Reader(folder, path).chain(value, chunks, width)
    first, *rest = [each for each in codecs if each.name != "transpose"]
    unusual = _unusual(value, chunks, width)
    if first.name == _SHARDING:
        summed = len(first.settings["index_codecs"]) > 1
        part = _part(first.settings, width) if codecs == [first] else None
        return Coding(inner=_indexed(first.settings, codecs, chunks), summed=summed, part=part, unusual=unusual)
    if not rest:
        return Coding(raw=True, unusual=unusual)
    compressor = rest[0].name if len(rest) == 1 and rest[0].name != "crc32c" else None
    return Coding(compressor=compressor, unusual=unusual)


def _unusual(codecs: Sequence[Mapping[str, Any]], chunks: tuple[int, ...], width: int) -> str:
    for codec in codecs:
        settings = codec.get("configuration", {})
        if codec["name"] == "transpose" and _moves(settings["order"], chunks):
            return f"the codec transpose with `order` {quoted(settings['order'])}"
        if codec["name"] == "bytes" and width > 1 and settings["endian"] == "big":
            return "the codec bytes with `endian` big"
        if codec["name"] == _SHARDING:
            return _unusual(settings["codecs"], tuple(map(int, settings["chunk_shape"])), width)
    return ""


def _moves(order: Any, chunks: tuple[int, ...]) -> bool:
    """Whether elements lie in another order once an array is turned so; those along dimensions of 1 do not."""
    axes = (
        {"C": range(len(chunks)), "F": range(len(chunks))[::-1]}.get(order, order) if isinstance(order, str) else order
    )
    long = [int(axis) for axis in axes if chunks[int(axis)] > 1]
    return long != sorted(long)


def _indexed(settings: Mapping[str, Any], codecs: Sequence[_Codec], chunks: tuple[int, ...]) -> int:
    """How many parts the index at the end of a chunk has; 0 where it is written in another way."""
    index = settings["index_codecs"]
    plain = [each["name"] for each in index] in (["bytes"], ["bytes", "crc32c"])
    plain = plain and index[0]["configuration"]["endian"] == "little"
    if len(codecs) > 1 or not plain or settings.get("index_location", "end") != "end":
        return 0
    return prod(chunk // int(part) for chunk, part in zip(chunks, settings["chunk_shape"], strict=True))


def _part(settings: Mapping[str, Any], width: int) -> int | None:
    """The bytes of each part of a shard; None where they depend on what it holds."""
    if [each["name"] for each in settings["codecs"]] != ["bytes"]:
        return None
    return prod(map(int, settings["chunk_shape"])) * width
