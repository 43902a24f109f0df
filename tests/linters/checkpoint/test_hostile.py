"""Checkpoints from whoever wrote them: refused with a sentence, nothing outside the folder opened."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.folder import Folder
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.linters.checkpoint.zarr import read_zarr

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
REGULAR = {"name": "regular", "configuration": {"chunk_shape": [2]}}
ZARR3 = {
    "zarr_format": 3,
    "node_type": "array",
    "fill_value": 0,
    "shape": [4],
    "data_type": "float32",
    "chunk_grid": REGULAR,
    "chunk_key_encoding": {"name": "default"},
    "codecs": [{"name": "bytes"}],
}


def tree(*paths: tuple[str, ...], **more: Any) -> dict[str, Any]:
    entries = {
        str(path): {
            "key_metadata": [{"key": key, "key_type": 2} for key in path],
            "value_metadata": {"value_type": "np.ndarray", "skip_deserialize": False, "write_shape": [2]},
        }
        for path in paths
    }
    return {"tree_metadata": entries, "store_array_data_equal_to_fill_value": True} | more


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """An Orbax step by hand: one array of 4 elements in two chunks."""
    root = tmp_path / "step"
    (root / "a").mkdir(parents=True)
    (root / "_METADATA").write_text(json.dumps(tree(("a",))))
    (root / "a/.zarray").write_text(json.dumps(ZARR))
    for chunk in ("0", "1"):
        (root / "a" / chunk).write_bytes(bytes(8))
    return root


def refused(root: Path) -> str:
    with pytest.raises(ContractLintError) as error:
        read_checkpoint(root)
    return str(error.value)


def test_the_step_itself_is_whole(saved: Path) -> None:
    assert judge_checkpoint(CheckpointEvidence(read_checkpoint(saved))) == []


def _link(path: Path, to: str) -> None:
    if path.is_file():
        path.unlink()
    path.symlink_to(to)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # the name of a socket has at most 107 bytes
        made.bind(path.name)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda root: _link(root / "a/1", "/etc/passwd"), "step/a/1: is a symbolic link"),
        (lambda root: _link(root / "_METADATA", "/etc/passwd"), "step/_METADATA: is a symbolic link"),
        (lambda root: _link(root / "more", ".."), "step/more: is a symbolic link"),
        (lambda root: os.mkfifo(root / "a/2"), "step/a/2: is neither a file nor a folder"),
        (lambda root: _socket(root / "s"), "step/s: is neither a file nor a folder"),
        (lambda root: (root / "a\x1b[2J").mkdir(), "holds a name that cannot be shown: 'a\\x1b[2J'"),
        (
            lambda root: os.truncate(root / "_METADATA", 10 * 1024**3),
            "step/_METADATA: is a hole: it has 10.00 GiB, stored are",
        ),
        (lambda root: os.truncate(root / "a/1", 1 << 20), "step/a/1: is a hole: it has 1.00 MiB, stored are"),
        (lambda root: (root / "a/.zarray").write_bytes(b" " * ((1 << 20) + 1)), "is too large for the metadata of one"),
    ],
)
def test_what_is_no_plain_small_file(saved: Path, change: Callable[[Path], object], said: str) -> None:
    change(saved)
    assert said in refused(saved)


def test_a_large_file_of_metadata_is_not_read(saved: Path) -> None:
    (saved / "x").write_text("{ }")
    with pytest.raises(ContractLintError, match="has 3 B: metadata has at most 2 B"):
        Folder(saved, "step").read("x", most=2)


def test_a_folder_without_end(saved: Path) -> None:
    (saved / "/".join("d" * 40)).mkdir(parents=True)
    assert "lies deeper than 32 folders" in refused(saved)


def test_links_beside_steps(saved: Path) -> None:
    """`latest` is no step, and is left alone; a step that is a link is refused."""
    root = saved.parent
    saved.rename(root / "100")
    (root / "latest").symlink_to("100")
    assert read_checkpoint(root).step.folder == "100"
    (root / "200").symlink_to("100")
    assert "/200: is a symbolic link" in refused(root)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("_METADATA", "{", "step/_METADATA:1:2: is no JSON"),
        ("_METADATA", '{\n "tree_metadata": {]}', "step/_METADATA:2:20: is no JSON"),
        ("_METADATA", "[]", "is a list, not an object"),
        ("_METADATA", "{}\udcff", "is no JSON"),
        ("_METADATA", '{"a":' * 100_000, "is nested too deeply"),
        ("_METADATA", '{"a": 1}', "has no `tree_metadata`"),
        ("_METADATA", '{"tree_metadata": []}', "has no `tree_metadata`"),
        ("_METADATA", '{"tree_metadata": {"x": 3}}', 'the entry "x" has no keys or no type'),
        ("_METADATA", '{"tree_metadata": {"x": {"key_metadata": 3}}}', 'the entry "x" has no keys or no type'),
        ("_METADATA", json.dumps(tree(("a",))).replace("key_type", "key_typ"), "has no `key_type`"),
        ("_METADATA", json.dumps(tree(("a",))).replace('"key"', '"kee"'), "has no `key`"),
        ("_METADATA", json.dumps(tree(("a",))).replace("skip_deserialize", "skip"), "has no `skip_deserialize`"),
        ("_METADATA", json.dumps(tree(("a",))).replace("value_type", "type"), "has no `value_type`"),
        ("_METADATA", json.dumps(tree(("a",))).replace('"key_type": 2', '"key_type": 7'), "neither of a list (1) nor"),
        ("_CHECKPOINT_METADATA", "nul", "step/_CHECKPOINT_METADATA:1:1: is no JSON"),
    ],
)
def test_metadata_that_is_damaged(saved: Path, file: str, text: str, said: str) -> None:
    (saved / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert said in refused(saved)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("('a',)", {}, None),
        ("('a',)", {"value_type": "scalar"}, 'a is of the type "scalar", and an array of [4] is stored'),
        ("('a',)", {"value_type": "wibble"}, 'a is of the type "wibble"; Orbax has handlers for jax.Array'),
        ("('a',)", {"value_type": None}, "a is of the type null; Orbax has handlers"),
        ("('a',)", {"skip_deserialize": True}, 'a is "np.ndarray", and is to be skipped'),
        ("('a',)", {"value_type": "wibble", "skip_deserialize": True}, 'a is "wibble", and is to be skipped'),
        ("('b',)", {}, 'the entry "(\'b\',)" has the keys "a"'),
    ],
)
def test_an_entry_of_the_tree_that_contradicts(
    saved: Path, name: str, change: dict[str, Any], said: str | None
) -> None:
    entry = tree(("a",))["tree_metadata"]["('a',)"]
    entry["value_metadata"] |= change
    (saved / "_METADATA").write_text(json.dumps(tree() | {"tree_metadata": {name: entry}}))
    found = [each for each in judge_checkpoint(CheckpointEvidence(read_checkpoint(saved))) if each.code == "CKP616"]
    assert [each.severity for each in found] == (["error"] if said else [])
    assert said is None or said in found[0].message


BIG = {"name": "bytes", "configuration": {"endian": "big"}}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def _turn(order: Any) -> dict[str, Any]:
    return {"name": "transpose", "configuration": {"order": order}}


def _parts(*codecs: dict[str, Any]) -> dict[str, Any]:
    index = [LITTLE, {"name": "crc32c"}]
    return {
        "name": "sharding_indexed",
        "configuration": {"chunk_shape": [2, 3], "codecs": [*codecs], "index_codecs": index},
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"order": "F"}, "`order` F"),
        ({"order": "F", "chunks": [4, 1]}, None),
        ({"dtype": ">f4"}, "`dtype` >f4"),
        ({"dtype": ">f4", "order": "F"}, "`dtype` >f4"),
        ({"dtype": ">i1"}, None),
        ({"codecs": [LITTLE]}, None),
        ({"codecs": [BIG]}, "the codec bytes with `endian` big"),
        ({"codecs": [BIG], "data_type": "int8"}, None),
        ({"codecs": [_turn([1, 0]), LITTLE]}, "the codec transpose with `order` [1, 0]"),
        ({"codecs": [_turn("F"), LITTLE]}, 'the codec transpose with `order` "F"'),
        ({"codecs": [_turn("C"), LITTLE]}, None),
        ({"codecs": [_turn([0, 1]), LITTLE]}, None),
        ({"codecs": [_parts(LITTLE)]}, None),
        ({"codecs": [_parts(BIG)]}, "the codec bytes with `endian` big"),
        ({"codecs": [_parts(_turn([1, 0]), LITTLE)]}, "the codec transpose with `order` [1, 0]"),
    ],
)
def test_an_order_that_orbax_never_writes(change: dict[str, Any], said: str | None) -> None:
    """In both versions of zarr; where it changes no number, as in a single column, nothing is said."""
    version = 3 if "codecs" in change else 2
    grid = {"name": "regular", "configuration": {"chunk_shape": [4, 6]}}
    whole = {**ZARR3, "shape": [4, 6], "chunk_grid": grid} if version == 3 else {**ZARR, "shape": [4, 6]}
    data = (whole if version == 3 else {**whole, "chunks": [4, 6]}) | change
    array = read_zarr(Folder(Path("."), "step"), "a", json.dumps(data).encode(), version)
    assert array.coding.unusual == (said or "")


def test_an_order_that_orbax_never_writes_is_a_warning(saved: Path) -> None:
    (saved / "a/.zarray").write_text(json.dumps(ZARR | {"dtype": ">f4"}))
    (found,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(saved)))
    assert (found.code, found.severity) == ("CKP616", "warning")
    assert found.message.startswith("a/.zarray: has `dtype` >f4; Orbax writes little-endian and in the order of C")
    assert "checkpoint diff" in (found.help or "")


def test_two_entries_of_the_same_keys(saved: Path) -> None:
    whole = tree(("a",))
    whole["tree_metadata"]["('a', )"] = whole["tree_metadata"]["('a',)"]
    (saved / "_METADATA").write_text(json.dumps(whole))
    (found,) = judge_checkpoint(CheckpointEvidence(read_checkpoint(saved)))
    assert found.code == "CKP616" and "\"('a',)\" and \"('a', )\" have the same keys" in found.message


@pytest.mark.parametrize(("skip", "codes"), [(True, []), (False, ["CKP616"])])
@pytest.mark.parametrize("kind", ["None", "Dict", "List", "Tuple", "NamedTuple"])
def test_what_is_empty_is_skipped(saved: Path, kind: str, skip: bool, codes: list[str]) -> None:
    whole = tree(("a",), ("b",))
    whole["tree_metadata"]["('b',)"]["value_metadata"] |= {"value_type": kind, "skip_deserialize": skip}
    (saved / "_METADATA").write_text(json.dumps(whole))
    checkpoint = read_checkpoint(saved)
    assert [each.code for each in judge_checkpoint(CheckpointEvidence(checkpoint))] == codes
    assert list(checkpoint.arrays) == ["a"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dtype": "|O"}, "step/a/.zarray: is an array of Python objects, which are not read"),
        ({"dtype": [["f0", "<i4"]]}, '`dtype` is [["f0", "<i4"]], not a dtype of numbers'),
        ({"dtype": "<U8"}, '`dtype` is "<U8", not a dtype of numbers'),
        ({"dtype": None}, "`dtype` is null, not a dtype of numbers"),
        ({"shape": [-1]}, "`shape` is [-1], not a list of sizes"),
        ({"shape": 4}, "`shape` is 4, not a list of sizes"),
        ({"shape": [2.5]}, "`shape` is [2.5], not a list of sizes"),
        ({"shape": [1 << 62, 4]}, "no array is that large"),
        ({"shape": [1] * 33}, "`shape` has 33 dimensions, more than the 32 that Orbax reads"),
        ({"chunks": [0]}, "chunks of [0] cannot cut an array of [4]"),
        ({"chunks": [2, 2]}, "chunks of [2, 2] cannot cut an array of [4]"),
        ({"dimension_separator": "../"}, 'the separator of chunks is "../"'),
        ({"zarr_format": 9}, "`zarr_format` is 9, not 2"),
        ({"compressor": {"id": "lz4"}}, '`compressor` is {"id": "lz4"}; Orbax reads blosc, bz2, gzip, zlib, zstd, and'),
        ({"compressor": {"id": "zstd", "level": 23}}, '"level": 23}, and Orbax does not read that `level`'),
        ({"filters": [{"id": "delta"}]}, '`filters` is [{"id": "delta"}], and Orbax reads arrays without any'),
        ({"order": "A"}, '`order` is "A", not C or F'),
        ({"order": None}, "`order` is null, not C or F"),
        ({"fill_value": {}}, "`fill_value` is {}, which is no float32"),
    ],
)
def test_arrays_that_cannot_be(saved: Path, change: dict[str, Any], said: str) -> None:
    (saved / "a/.zarray").write_text(json.dumps(ZARR | change))
    assert said in refused(saved)


@pytest.mark.parametrize("key", ["shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters"])
def test_a_key_that_every_array_has(saved: Path, key: str) -> None:
    """A misspelt one is a missing one; further ones are left alone."""
    spelt = {f"{name}_" if name == key else name: value for name, value in ZARR.items()}
    (saved / "a/.zarray").write_text(json.dumps(spelt))
    assert f"step/a/.zarray: has no `{key}`" in refused(saved)
    (saved / "a/.zarray").write_text(json.dumps(ZARR | spelt))
    assert judge_checkpoint(CheckpointEvidence(read_checkpoint(saved))) == []


def _zstd(size: int) -> bytes:
    """A frame of one run of zeros, by hand: the size in one byte, in two, or in four."""
    content = (size, 1) if size < 256 else (size - 256, 2) if size < 65_792 else (size, 4)
    descriptor = {1: 0x20, 2: 0x60, 4: 0xA0}[content[1]]
    return b"\x28\xb5\x2f\xfd" + bytes([descriptor]) + content[0].to_bytes(content[1], "little") + b"\x03\0\0\0"


def _blosc(size: int) -> bytes:
    return bytes([2, 1, 0, 4]) + b"".join(number.to_bytes(4, "little") for number in (size, size, 20)) + bytes(4)


@pytest.mark.parametrize("elements", [2, 64, 100, 1 << 20])
@pytest.mark.parametrize(("name", "frame"), [("zstd", _zstd), ("blosc", _blosc)])
def test_a_chunk_of_another_size(saved: Path, name: str, frame: Callable[[int], bytes], elements: int) -> None:
    """That of another array, or of the same one before somebody changed its dtype."""
    coded = ZARR | {"compressor": {"id": name}, "shape": [2 * elements], "chunks": [elements]}
    (saved / "a/.zarray").write_text(json.dumps(coded))
    for chunk in ("0", "1"):
        (saved / "a" / chunk).write_bytes(frame(4 * elements))
    assert read_checkpoint(saved).items[0].holes == ()
    (saved / "a/1").write_bytes(frame(4 * elements + 4))
    (hole,) = read_checkpoint(saved).items[0].holes
    said = f"chunk 1: holds {4 * elements + 4:,} B once it is decompressed, {4 * elements:,} are needed"
    assert (hole.kind, hole.what) == ("cut", said)
    (saved / "a/1").write_bytes(frame(4 * elements) + b"\0")
    assert "B are stored, the" in read_checkpoint(saved).items[0].holes[0].what
    (saved / "a/1").write_bytes(frame(4 * elements))
    (saved / "a/.zarray").write_text(json.dumps(coded | {"dtype": "<f2"}))
    assert [hole.kind for hole in read_checkpoint(saved).items[0].holes] == ["cut", "cut"]


def test_a_frame_with_its_reserved_bit(saved: Path) -> None:
    (saved / "a/.zarray").write_text(json.dumps(ZARR | {"compressor": {"id": "zstd"}}))
    frame = _zstd(8)
    for chunk in ("0", "1"):
        (saved / "a" / chunk).write_bytes(frame)
    assert read_checkpoint(saved).items[0].holes == ()
    (saved / "a/1").write_bytes(frame[:4] + bytes([frame[4] | 8]) + frame[5:])
    (hole,) = read_checkpoint(saved).items[0].holes
    assert (hole.kind, hole.what) == (
        "cut",
        "chunk 1: is no Zstandard frame that can be read: the reserved bit of its header is set",
    )


def shards(part: list[int], deep: int = 1) -> list[dict[str, Any]]:
    """Shards within shards."""
    plain = [{"name": "bytes", "configuration": {"endian": "little"}}]
    inner = shards(part, deep - 1) if deep > 1 else plain
    configuration = {"chunk_shape": part, "codecs": inner, "index_codecs": plain}
    return [{"name": "sharding_indexed", "configuration": configuration}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"node_type": "group"}, '`node_type` is "group", not array'),
        ({"codecs": None}, "`codecs` is null, not a list of codecs"),
        ({"codecs": []}, "`codecs` is [], of which none makes bytes"),
        ({"data_type": "string"}, '`data_type` is "string", not a dtype of numbers'),
        ({"data_type": {"name": "x"}}, "not a dtype of numbers"),
        ({"chunk_grid": None}, "`chunk_grid` is null, not regular"),
        ({"chunk_grid": REGULAR | {"configuration": 3}}, "`chunk_grid` has no configuration"),
        ({"codecs": [{"name": "sharding_indexed"}]}, "which has no `chunk_shape`"),
        ({"codecs": shards([3])}, "chunks of [2] cannot be cut in parts of [3]"),
        ({"codecs": shards([1], 40)}, "too deep to be read"),
    ],
)
def test_arrays_of_the_third_version_too(saved: Path, change: dict[str, Any], said: str) -> None:
    (saved / "_METADATA").write_text(json.dumps(tree(("a",), use_zarr3=True)))
    (saved / "a/zarr.json").write_text(json.dumps(ZARR3 | change))
    assert said in refused(saved)


def test_a_grid_larger_than_can_be_counted(saved: Path) -> None:
    (saved / "a/.zarray").write_text(json.dumps(ZARR | {"shape": [1 << 40, 1 << 20], "chunks": [1, 1]}))
    for chunk in ("0.0", "0.1", "0.3", f"{1 << 40}.0", "00.2", "0.2.0"):
        (saved / "a" / chunk).write_bytes(bytes(4))
    (hole, *_) = read_checkpoint(saved).items[0].holes
    assert hole.kind == "absent" and "(first: 0.2)" in hole.what and f"{(1 << 60) - 3:,} of " in hole.what


def test_chunks_that_need_not_be_stored(saved: Path) -> None:
    (saved / "a/.zarray").write_text(json.dumps(ZARR | {"fill_value": 0}))
    (saved / "a/1").unlink()
    assert [hole.kind for hole in read_checkpoint(saved).items[0].holes] == ["absent"]
    (saved / "_METADATA").write_text(json.dumps(tree(("a",), store_array_data_equal_to_fill_value=False)))
    assert [hole.kind for hole in read_checkpoint(saved).items[0].holes] == ["unstored"]
    (saved / "a/.zarray").write_text(json.dumps(ZARR))
    assert [hole.kind for hole in read_checkpoint(saved).items[0].holes] == ["absent"]


def test_a_name_that_leads_out_is_a_name(saved: Path) -> None:
    (saved.parent / "secret").mkdir()
    (saved.parent / "secret/.zarray").write_text("x")
    (saved / "_METADATA").write_text(json.dumps(tree(("a",), ("../secret",), ("/etc/passwd",))))
    found = judge_checkpoint(CheckpointEvidence(read_checkpoint(saved)))
    assert [each.code for each in found] == ["CKP609"] and found[0].details["leaves"] == ["../secret", "/etc/passwd"]


@pytest.mark.parametrize("prefix", ["../out/", "d/../../out/", "/etc/"])
@pytest.mark.parametrize("kind", ["value", "btree_node"])
def test_an_index_that_leads_out(saved: Path, prefix: str, kind: str) -> None:
    """Written in memory, where any name goes, and copied to disk where its parts may lie."""
    tensorstore = pytest.importorskip("tensorstore")
    spec = {"driver": "ocdbt", "base": {"driver": "memory", "path": ""}, f"{kind}_data_prefix": prefix}
    shared = tensorstore.Context()
    store = tensorstore.KvStore.open(spec, context=shared).result()
    store["a/.zarray"] = json.dumps(ZARR).encode() + b" " * 2000
    memory = tensorstore.KvStore.open({"driver": "memory", "path": ""}, context=shared).result()
    for key in memory.list().result():
        name = key.decode()
        if name.startswith(("manifest", "d/")) and ".." not in name:
            (saved / name).parent.mkdir(exist_ok=True)
            (saved / name).write_bytes(memory[key])
    assert f'the index leads out of the checkpoint: "{prefix}' in refused(saved)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
@pytest.mark.parametrize("name", ["a", "_METADATA"])
def test_what_cannot_be_read(saved: Path, name: str) -> None:
    (saved / name).chmod(0)
    try:
        assert f"step/{name}: cannot be read" in refused(saved)
    finally:
        (saved / name).chmod(0o700)
