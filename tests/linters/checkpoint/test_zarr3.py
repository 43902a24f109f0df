"""What zarr's metadata of version 3 may say: whatever TensorStore opens, no more; and what it writes is found whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from contract_lint.linters.checkpoint.folder import Folder
from contract_lint.linters.checkpoint.orbax import read_tree

from .opened import opened


def named(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


BYTES, SUM = named("bytes", endian="little"), {"name": "crc32c"}
TURNED, ZSTD, GZIP = named("transpose", order=[0]), named("zstd", level=3), named("gzip", level=3)
BLOSC = named("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=4, blocksize=0)
SHARDS = named("sharding_indexed", chunk_shape=[1], codecs=[BYTES], index_codecs=[BYTES, SUM], index_location="end")
ZARR = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "float32",
    "chunk_grid": named("regular", chunk_shape=[2]),
    "chunk_key_encoding": named("default", separator="/"),
    "fill_value": 0.0,
    "codecs": [BYTES],
}
DTYPES = ("bool", "int2", "int4", "int8", "uint8", "int64", "uint64", "float8_e5m2", "float4_e2m1fn", "bfloat16")
OTHERS = (
    *(
        "float16",
        "float32",
        "float64",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e8m0fnu",
    ),
    *(
        "float8_e4m3b11fnuz",
        "float8_e5m2fnuz",
        "int16",
        "int32",
        "uint2",
        "uint4",
        "uint16",
        "uint32",
        "int1",
        "int128",
    ),
    *("float128", "bfloat32", "complex32", "string", "json", "<f4", "float6_e2m3fn", {"name": "float32"}, None, 3),
)
FILLS: tuple[Any, ...] = (
    *(0, 1.0, 0.5, -1, -2, 7, 8, 127, 128, 255, 256, 1 << 63, 1 << 64, True, None, "", "0", "NaN", "nan", "Infinity"),
    *("-Infinity", "+Infinity", "0x", "0x7", "0x7f", "0x007", "0x7fc0", "0x00007fc0", "0X7f", "-0x1", [0, 0], [0], {}),
)
COMPLEX = (
    [0, 0],
    [0.5, "NaN"],
    [0, "x"],
    ["0x7ff8000000000000", 0],
    ["0x7fc00000", 0],
    [None, 0],
    [True, 0],
    [0] * 3,
    0,
)
VALUES: dict[str, tuple[Any, ...]] = {
    "zarr_format": (2, 3.0, "3", True, None),
    "node_type": ("group", None),
    "shape": ([], [4.0], [-1], ["4"], [True], [0], [4, 4], 4, None, [1 << 62], [(1 << 62) + 1], [1 << 63], [1] * 33),
    "chunk_grid": (
        *(
            {"name": "regular"},
            "regular",
            named("rectangular", chunk_shape=[2]),
            named("regular", chunk_shape=[2], x=1),
        ),
        *(named("regular", chunk_shape=[2]) | {"must_understand": False}, named("regular", chunk_shape=None)),
        *(named("regular", chunk_shape=chunk) for chunk in ([], [0], [-1], [5], [2.0], ["2"], [2, 2], 2, [1 << 62])),
    ),
    "chunk_key_encoding": (
        *({"name": "default"}, {"name": "v2"}, "v2", {"name": "fanout"}, named("default"), named("default", x=1)),
        *({"name": "default", "configuration": None}, {"name": "default", "x": 1}),
        *(named(name, separator=text) for name in ("default", "v2") for text in (".", "/", "-", "", None)),
    ),
    "attributes": ({}, {"a": 1}, None, []),
    "dimension_names": (["x"], [None], [""], ["x", "y"], [1], "x", None),
    "storage_transformers": ([], [{"name": "x"}], None, {}),
    "more": (1, None, {}, {"must_understand": True}, {"must_understand": False}),
}
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, tuple[Any, ...]]]] = {
    "bytes": (BYTES, {"endian": ("big", "middle", None)}),
    "transpose": (TURNED, {"order": ("C", "F", "A", [], [1], [0.0], [True], [0, 1], None)}),
    "zstd": (ZSTD, {"level": (-131_073, -131_072, 1.0, 1.5, 22, 23, "1", None, True), "checksum": (True, False, 0)}),
    "gzip": (GZIP, {"level": (-1, 0, 1.0, 9, 10, "1", None, True)}),
    "blosc": (
        BLOSC,
        {
            "cname": ("blosclz", "lz4hc", "snappy", "zlib", "zstd", "lzma", 3),
            "clevel": (-1, 0, 9, 10, 1.0, 1.5, "1"),
            "shuffle": ("noshuffle", "bitshuffle", "auto", 1, None),
            "typesize": (0, 1, 255, 256, None, 1.0),
            "blocksize": (-1, 1, 715_827_542, 715_827_543, 1.0, None),
        },
    ),
    "crc32c": (SUM | {"configuration": {}}, {}),
    "sharding_indexed": (
        SHARDS,
        {
            "chunk_shape": ([2], [3], [0], [], [1, 1], [1.0], None, [-1]),
            "codecs": ([], [BYTES, ZSTD], [ZSTD], [TURNED, BYTES], [SHARDS], [SHARDS, ZSTD], None, [{"name": "bytes"}]),
            "index_codecs": (
                *([], [BYTES], [SUM], [BYTES, ZSTD], [BYTES, SUM, SUM], None, [TURNED, BYTES], [{"name": "bytes"}]),
                *([named("transpose", order=[1, 0]), BYTES], [named("bytes", endian="big"), SUM]),
            ),
            "index_location": ("start", "middle", None),
        },
    ),
}
CHAINS = (
    *(
        [],
        {},
        None,
        ["bytes"],
        [{"configuration": {}}],
        [{"name": "endian"}],
        [BYTES, "zstd"],
        [BYTES, {"name": "lz4"}],
    ),
    *([a, b] for a, b in product((BYTES, TURNED, ZSTD, BLOSC, SUM, SHARDS), repeat=2)),
    *([TURNED, BYTES, ZSTD], [TURNED, TURNED, BYTES], [BYTES, SUM, ZSTD], [BYTES, ZSTD, BYTES], [ZSTD], [TURNED]),
)


def changes() -> Iterator[Mapping[str, Any]]:
    for key, values in VALUES.items():
        yield from ({key: value} for value in values)
    yield from ({"data_type": dtype, "fill_value": fill} for dtype, fill in product(DTYPES, FILLS))
    yield from ({"data_type": dtype} for dtype in OTHERS)
    yield from ({"data_type": f"complex{bits}", "fill_value": fill} for bits in (64, 128) for fill in COMPLEX)
    yield from ({"codecs": chain} for chain in CHAINS)
    yield from (
        {"codecs": [{"name": "bytes"}], "data_type": dtype} for dtype in ("int8", "int4", "int16", "float8_e5m2")
    )
    for name, (codec, settings) in SETTINGS.items():
        before = [] if name in ("bytes", "sharding_indexed") else [BYTES]
        whole: dict[str, Any] = codec["configuration"]
        configurations: list[Any] = [None, whole | {"more": 1}]
        configurations += [{other: value for other, value in whole.items() if other != key} for key in whole]
        configurations += [whole | {key: value} for key, values in settings.items() for value in values]
        for each in [
            *({**codec, "configuration": each} for each in configurations),
            {"name": name},
            codec | {"more": 1},
        ]:
            yield {"codecs": [each, BYTES] if name == "transpose" else [*before, each]}
    plain = BLOSC["configuration"] | {"shuffle": "noshuffle"}
    del plain["typesize"]
    yield {"codecs": [BYTES, named("blosc", **plain)]}


def test_what_is_refused_is_what_orbax_could_not_open() -> None:
    metadata = [ZARR | change for change in changes()]
    metadata += [{key: value for key, value in ZARR.items() if key != left_out} for left_out in ZARR]
    asked = [(each, *opened(each, 3)) for each in metadata]
    assert [(each, opens) for each, opens, read in asked if opens != read] == []
    assert min(sum(opens for _, opens, _ in asked), sum(not opens for _, opens, _ in asked)) > 100


KEYS = [
    ("zarr", {"dimension_separator": "."}),
    ("zarr", {"dimension_separator": "/"}),
    *(
        ("zarr3", {"chunk_key_encoding": named(name, separator=separator)})
        for name, separator in product(("default", "v2"), "./")
    ),
]
CODED = [("zarr3", {"codecs": codecs}) for codecs in ([BYTES], [BYTES, ZSTD], [BYTES, BLOSC], [BYTES, GZIP, SUM])]


@pytest.mark.parametrize(("driver", "metadata"), [*KEYS, *CODED])
@pytest.mark.parametrize("shape", [(5, 3), ()])
def test_what_tensorstore_writes_is_found_whole(
    tmp_path: Path, driver: str, metadata: Mapping[str, Any], shape: tuple[int, ...]
) -> None:
    """Chunks by their keys, and their bytes by how they are coded."""
    tensorstore = pytest.importorskip("tensorstore")
    chunks = [2] * len(shape)
    chunked = {"chunks": chunks} if driver == "zarr" else {"chunk_grid": named("regular", chunk_shape=chunks)}
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{tmp_path}/params.w"}}
    store = tensorstore.open(
        spec | {"metadata": {"shape": shape, **chunked, **metadata}}, create=True, dtype=tensorstore.float32
    ).result()
    store.write(1.5).result()
    folder = Folder(tmp_path, "step")
    item = read_tree(folder, "", folder.files())
    assert (item.leaves["params/w"].shape, item.leaves["params/w"].dtype) == (shape, "float32")
    assert [hole.leaf for hole in item.holes] == [""]  # there is no tree that names it, as Orbax writes one
    chunk = max(path for path in (tmp_path / "params.w").rglob("*") if path.is_file() and path.suffix != ".json")
    chunk.unlink()
    item = read_tree(folder, "", folder.files())
    count = 6 if shape else 1
    assert [hole.what.partition(" (")[0] for hole in item.holes if hole.leaf] == [f"1 of {count} chunks are not stored"]
