"""What zarr's metadata may say of dtypes, compressors, filters and fill values: whatever TensorStore opens, no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from .opened import opened

ZARR = {
    "chunks": [2],
    "compressor": None,
    "dtype": "<f4",
    "fill_value": None,
    "filters": None,
    "order": "C",
    "shape": [4],
    "zarr_format": 2,
}
NAMES = ("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd", "zfp", ["zstd"])
LEVELS = (-131_073, -131_072, -1, 0, 1, 1.0, 1.5, 9, 10, 22, 23, "1", None, True)
DTYPES = ("<f4", ">f8", "bfloat16", "float8_e4m3fn", "<i4", "|u1", "int4", "|b1", "<c8", "<c16")
FILLS: tuple[Any, ...] = (
    *(0, 1.0, 0.5, -1, 255, 256, 1 << 31, True, "", "0", "+1", " 1", "0x7fc00000", "NaN", "nan", "Infinity", "inf"),
    *("AAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAA==", "!", [0, 0], [0, "NaN"], [0, "x"], [0], [], {}),
)
SPELT = ("f4", "=f4", "|f4", "<f1", "<f16", "<i3", "<i8", "|i1", "<u2", "|u2", "<b1", "<b2", "<c4", "<U4", "<M8[ns]")
NAMED = ("float32", "bool", "uint4", "int2", "float4_e2m1fn", "float8_e5m2fnuz")


SIZES: tuple[Any, ...] = ([4.0], [-1], ["4"], [True], [4, 4], 4, None, [1] * 33)


def changes() -> Iterator[Mapping[str, Any]]:
    yield from ({key: value} for key in ("shape", "chunks") for value in (*SIZES, [0]))
    yield {"shape": [1] * 32, "chunks": [1] * 32}
    yield from ({"zarr_format": value} for value in (2.0, 3, "2", True, None))
    yield from ({"dimension_separator": value} for value in (".", "/", "-", None))
    for name, level in product(NAMES, LEVELS):
        yield {"compressor": {"id": name, "level": level}}
    for name in NAMES:
        yield {"compressor": {"id": name}}
        yield {"compressor": {"id": name, "more": 1}}
    for key, value in product(("clevel", "shuffle", "blocksize"), (-2, -1, 0, 2, 3, 9, 10)):
        yield {"compressor": {"id": "blosc", key: value}}
    for value in ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd", "lzma", 3, ["lz4"]):
        yield {"compressor": {"id": "blosc", "cname": value}}
    for value in ("zstd", {"ld": "zstd"}, {}, [], 0):
        yield {"compressor": value}
    for value in ([], {}, "x", [{"id": "delta"}]):
        yield {"filters": value}
    for dtype, fill in product(DTYPES, FILLS):
        yield {"dtype": dtype, "fill_value": fill}
    for dtype in (*SPELT, *NAMED):
        yield {"dtype": dtype}


def test_what_is_refused_is_what_orbax_could_not_open() -> None:
    differ = [(change, opens) for change in changes() for opens, read in [opened(ZARR | change, 2)] if opens != read]
    assert differ == []
