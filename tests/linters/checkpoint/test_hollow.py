"""What counts as a hole: file systems that do not tell are believed to store all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from contract_lint.linters.checkpoint.hollow import hollow, stored_of

SIZE = 1 << 20


def _opened(path: Path, data: bytes) -> int:
    path.write_bytes(data)
    os.truncate(path, SIZE)
    return os.open(path, os.O_RDONLY)


@pytest.mark.parametrize(("data", "stored"), [(b"x", 4096), (b"x" * (SIZE // 2), None), (b"x" * SIZE, None)])
def test_a_file_that_ends_in_a_hole(tmp_path: Path, data: bytes, stored: int | None) -> None:
    descriptor = _opened(tmp_path / "a", data)
    try:
        assert hollow(descriptor, SIZE) == stored
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(("number", "stored"), [(errno.ENXIO, 0), (errno.EINVAL, SIZE)])
def test_a_file_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch, number: int, stored: int) -> None:
    def seek(*_: int) -> int:
        raise OSError(number, "no")

    monkeypatch.setattr(os, "lseek", seek)
    assert stored_of(0, SIZE) == stored
