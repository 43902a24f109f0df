""".safetensors files: as their own package writes them, and headers that say what cannot be."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint


def written(path: Path, header: Any, data: int = 0) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(data))
    return path


def entry(start: int, stop: int, *shape: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, stop]}


def test_what_its_package_writes(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    save_file = pytest.importorskip("safetensors.numpy").save_file
    dtypes = ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64")
    arrays = {f"model.layers.{number}.w": numpy.zeros((2, number), dtype) for number, dtype in enumerate(dtypes)}
    arrays["params/step"] = numpy.zeros((), "int32")
    save_file(arrays, tmp_path / "a.safetensors", metadata={"format": "np"})
    checkpoint = read_checkpoint(tmp_path / "a.safetensors")
    expected = {f"model/layers/{number}/w": ((2, number), dtype) for number, dtype in enumerate(dtypes)}
    expected["params/step"] = ((), "int32")
    assert {path: (leaf.shape, leaf.dtype) for path, leaf in checkpoint.arrays.items()} == expected
    assert checkpoint.items[0].holes == ()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("m-00001-of-00002",), ["1 of 2 files are not there (first: m-00002-of-00002.safetensors)"]),
        (
            ("m-00000-of-00003", "m-00002-of-00003"),
            ["1 of 3 files are not there (first: m-00001-of-00003.safetensors)"],
        ),
        (
            ("m-00002-of-999999999",),
            ["999,999,998 of 999,999,999 files are not there (first: m-000000001-of-999999999"],
        ),
        (("m-00001-of-00002", "m-00002-of-00002"), []),
        (("m-00000-of-00002", "m-00001-of-00002"), []),
        (("m-00001-of-00001",), []),
    ],
)
def test_files_are_missing_by_the_names_of_the_others(tmp_path: Path, names: tuple[str, ...], said: list[str]) -> None:
    for at, name in enumerate(names):
        written(tmp_path / f"{name}.safetensors", {f"w{at}": entry(0, 4, 1)}, 4)
    holes = read_checkpoint(tmp_path).items[0].holes
    assert len(holes) == len(said) and all(text in hole.what for hole, text in zip(holes, said, strict=True))


@pytest.mark.parametrize(
    ("folder", "names", "said"),
    [
        ("run", ("m", "n"), "run: holds 2 checkpoints: m.safetensors, n.safetensors"),
        ("run", ("m-1-of-2", "n-2-of-2"), "holds 2 checkpoints: m-1-of-2.safetensors, n-2-of-2.safetensors"),
        ("run", ("m-1-of-2", "m-2-of-2", "n"), "holds 2 checkpoints: m-1-of-2.safetensors, n.safetensors"),
        ("run", ("m-1-of-2", "m-2-of-2"), None),
        ("run", ("m",), None),
        ("100", ("model", "optimizer"), None),  # a step, in two files
        ("step_100", ("model", "optimizer"), None),
    ],
)
def test_files_of_several_checkpoints_are_not_put_together(
    tmp_path: Path, folder: str, names: tuple[str, ...], said: str | None
) -> None:
    (tmp_path / folder).mkdir()
    for at, name in enumerate(names):
        written(tmp_path / folder / f"{name}.safetensors", {f"w{at}": entry(0, 4, 1)}, 4)
    if said is None:
        assert len(read_checkpoint(tmp_path / folder).arrays) == len(names)
        return
    with pytest.raises(ContractLintError) as error:
        read_checkpoint(tmp_path / folder)
    assert said in str(error.value) and error.value.help is not None and error.value.help.startswith("name one: ")
    for name in names:
        assert len(read_checkpoint(tmp_path / folder / f"{name}.safetensors").arrays) == 1


@pytest.mark.parametrize(("header", "codes"), [({}, ["CKP609"]), ({"a": entry(0, 0, 0)}, [])])
def test_a_file_without_an_array_holds_nothing(tmp_path: Path, header: dict[str, Any], codes: list[str]) -> None:
    checkpoint = read_checkpoint(written(tmp_path / "a.safetensors", header))
    assert [each.code for each in judge_checkpoint(CheckpointEvidence(checkpoint))] == codes


def test_several_files_and_their_index(tmp_path: Path) -> None:
    written(tmp_path / "m-1.safetensors", {"a": entry(0, 4, 1)}, 4)
    written(tmp_path / "m-2.safetensors", {"b": entry(0, 4, 1)}, 4)
    index = tmp_path / "m.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}))
    assert read_checkpoint(tmp_path).items[0].holes == ()
    index.write_text(json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "../m-3.safetensors", "c": "m-1"}}))
    holes = read_checkpoint(tmp_path).items[0].holes
    assert [(hole.kind, hole.leaf) for hole in holes] == [("absent", "b"), ("absent", "c")]
    assert "says it is in ../m-3.safetensors, it is in m-2.safetensors" in holes[0].what
    written(tmp_path / "m-2.safetensors", {"a": entry(0, 4, 1), "b": entry(4, 8, 1)}, 8)
    assert ("twice", "a") in {(hole.kind, hole.leaf) for hole in read_checkpoint(tmp_path).items[0].holes}


@pytest.mark.parametrize(
    ("second", "data", "expected"),
    [
        (entry(4, 8, 1), 8, []),
        (entry(4, 8, 1), 7, ["cut"]),
        (entry(4, 8, 1), 0, ["cut", "cut"]),
        (entry(3, 7, 1), 7, ["twice"]),
        (entry(6, 10, 1), 10, ["absent"]),
    ],
)
def test_every_byte_is_in_one_array(tmp_path: Path, second: Any, data: int, expected: list[str]) -> None:
    path = written(tmp_path / "a.safetensors", {"a": entry(0, 4, 1), "b": second}, data)
    assert [hole.kind for hole in read_checkpoint(path).items[0].holes] == expected


@pytest.mark.parametrize(
    ("header", "data", "said"),
    [
        (b"{", 0, "a.safetensors:1:2: is no JSON"),
        (b"[" * 100_000, 0, "is nested too deeply"),
        (b"[]", 0, "is a list, not an object"),
        (b'{"a": 1, "a": 1}', 0, "the key 'a' stands there twice"),
        (b'{"a": "\xff"}', 0, "is no JSON: byte 7 is not utf-8"),
        (b"1" * 5000, 0, "is no JSON"),
        ({"a": 3}, 0, '"a" has the dtype 3, which is not known'),
        ({"a": entry(0, 4, 1, dtype="object")}, 4, 'has the dtype "object", which is not known'),
        ({"a": entry(0, 5, 1)}, 5, '"a" has the offsets [0, 5], 4 B are needed'),
        ({"a": entry(0, 4, -1)}, 4, "`shape` is [-1], not a list of sizes"),
        ({"a": entry(0, 4, 1 << 63)}, 4, "not a list of sizes"),
        ({"a": entry(0, 4, True)}, 4, "not a list of sizes"),
        ({"a": entry(0, 4, 1)}, 9, "has 5 B behind its last array"),
    ],
)
def test_headers_that_cannot_be(tmp_path: Path, header: Any, data: int, said: str) -> None:
    with pytest.raises(ContractLintError) as error:
        read_checkpoint(written(tmp_path / "a.safetensors", header, data))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_bytes(b""), "the file has 0 B"),
        (lambda path: path.write_bytes(struct.pack("<Q", 1 << 60) + b"{}"), "says its header has 1,152,921,504,606"),
        (lambda path: path.mkdir(), "holds no step"),
    ],
)
def test_files_that_are_none(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    make(tmp_path / "a.safetensors")
    with pytest.raises(ContractLintError) as error:
        read_checkpoint(tmp_path / "a.safetensors")
    assert said in str(error.value)


@pytest.mark.parametrize("elements", [1 << 13, 10 << 28])
def test_a_file_that_was_only_stretched_to_its_length(tmp_path: Path, elements: int) -> None:
    path = written(tmp_path / "a.safetensors", {"a": entry(0, 4 * elements, elements)})
    os.truncate(path, path.stat().st_size + 4 * elements)
    for named in (path, tmp_path):
        with pytest.raises(ContractLintError, match=r"a\.safetensors: is a hole: it has"):
            read_checkpoint(named)


@pytest.mark.parametrize("part", [0.25, 1])
def test_zeros_that_are_stored_are_no_hole(tmp_path: Path, part: float) -> None:
    """Nor are arrays of which some are zeros that a sparse copy left out."""
    path = written(tmp_path / "a.safetensors", {"a": entry(0, 1 << 16, 1 << 14)}, int(part * (1 << 16)))
    os.truncate(path, path.stat().st_size + (1 << 16) - int(part * (1 << 16)))
    assert judge_checkpoint(CheckpointEvidence(read_checkpoint(path))) == []
