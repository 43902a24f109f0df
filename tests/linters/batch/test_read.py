"""Batch files: what can be read is read exactly, anything else is a clear error, and nothing in them is run."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.batch import read
from contract_lint.linters.batch.read import read_batch, write_batch
from contract_lint.linters.batch.safetensors import dtype_name
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

ARRAYS = {
    "tokens": np.arange(12, dtype=np.int32).reshape(3, 4),
    "mask": np.ones((3, 4), bool),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty": np.zeros((0, 4), np.float16),
    "scalar": np.array(7, np.int64),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path: Path, save: object) -> None:
    path = tmp_path / "batch.npz"
    save(path, **ARRAYS)  # pyright: ignore[reportCallIssue]
    found = read_batch(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)


def test_safetensors(tmp_path: Path) -> None:
    path = tmp_path / "batch.safetensors"
    arrays = {name: np.ascontiguousarray(array) for name, array in ARRAYS.items()}
    save_file(arrays, path)
    found = read_batch(path)
    assert set(found) == set(arrays) and all(np.array_equal(found[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats_are_read_as_what_they_are(tmp_path: Path, dtype: str) -> None:
    """Every number there is, against another implementation."""
    narrow = np.dtype(getattr(ml_dtypes, dtype))
    bits = np.arange(1 << 8 * narrow.itemsize, dtype=f"u{narrow.itemsize}")
    wanted = bits.view(narrow).reshape(2, -1)
    path = tmp_path / "batch.safetensors"
    save_file({"loss_mask": wanted}, path)
    found = read_batch(path)["loss_mask"]
    assert found.dtype == np.float32 and dtype_name(found) == dtype
    assert np.array_equal(found, wanted.astype(np.float32), equal_nan=True)
    write_batch(tmp_path / "b.npz", {"loss_mask": found})
    assert np.array_equal(read_batch(tmp_path / "b.npz")["loss_mask"], found, equal_nan=True)


def _tensors(header: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header.encode() + data


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (_tensors('{"a": {"dtype": "F8_E8M0", "shape": [2], "data_offsets": [0, 2]}}', b"ab"), "which is not read"),
        (_tensors('{"a": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2]}, "a": 1}', b"ab"), "stands there twice"),
        (
            _tensors(
                '{"a": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2]},'
                ' "b": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2]}}',
                b"ab",
            ),
            "b: its bytes begin at 0, those before end at 2",
        ),
        (_tensors('{"a": {"dtype": "I8", "shape": [3], "data_offsets": [0, 3]}}', b"ab"), "its bytes end at 3"),
    ],
)
def test_safetensors_that_are_not_read(tmp_path: Path, file: bytes, said: str) -> None:
    path = tmp_path / "batch.safetensors"
    path.write_bytes(file)
    with pytest.raises(ContractLintError, match=said) as caught:
        read_batch(path)
    assert caught.value.location is not None and caught.value.location.path == path.as_posix()


class Runs:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return os.mkdir, (str(self.path), 0o700)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    path = tmp_path / "batch.npz"
    np.savez(path, tokens=np.array([Runs(ran)], object))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ContractLintError, match="tokens holds Python objects"):
        read_batch(path)
    (tmp_path / "plain.npz").write_bytes(pickle.dumps(Runs(ran)))
    with pytest.raises(ContractLintError, match=r"neither a \.npz nor a \.safetensors"):
        read_batch(tmp_path / "plain.npz")
    assert not ran.exists()


def _npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def _header(shape: str) -> bytes:
    text = f"{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (_header("(4,)"), "promises 16 B"),
        (_header("(1000000000000,)") + b"\0" * 64, "promises 4,000,000,000,000 B"),
        (_header("(-1,)"), "is no array"),
        (_header("(1, 2"), "is no array"),
        (_header("__import__('os').abort()"), "is no array: its header holds more than plain values"),
        (b"\x93NUMPY\x09\x00", "is no array"),
        (b"", "is no array"),
    ],
)
def test_damaged_arrays(tmp_path: Path, member: bytes, said: str) -> None:
    with pytest.raises(ContractLintError, match=said) as caught:
        read_batch(_npz(tmp_path / "batch.npz", tokens=member))
    assert caught.value.location is not None and caught.value.location.path.endswith("batch.npz")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _npz(tmp_path / "batch.npz", tokens=_header("(1000000,)") + bytes(4_000_000))
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(read, "MAX_BYTES", 1_000_000)
    with pytest.raises(ContractLintError, match="unpacks to more than"):
        read_batch(path)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 9) + b'{"a": nul',
        struct.pack("<Q", 70)
        + json.dumps({"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}).ljust(70).encode(),
    ],
)
def test_damaged_safetensors(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "batch.safetensors"
    path.write_bytes(data)
    with pytest.raises(ContractLintError, match="is no readable"):
        read_batch(path)


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    for path in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(ContractLintError, match="cannot be read"):
            read_batch(path)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_damage_is_an_error_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **ARRAYS)  # pyright: ignore[reportArgumentType]
    whole = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    del whole[data.draw(st.integers(1, len(whole))) :]
    path = tmp_path_factory.mktemp("damaged") / "batch.npz"
    path.write_bytes(whole)
    try:
        found = read_batch(path)
    except ContractLintError:
        return
    assert all(isinstance(array, np.ndarray) for array in found.values())
