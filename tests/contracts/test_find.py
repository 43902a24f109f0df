"""Finding contracts in a tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.contracts.find import find_contracts


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names(folder: Path, *paths: str) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in find_contracts([folder / path for path in paths or (".",)])]


def test_a_tree(tmp_path: Path) -> None:
    touch(tmp_path, "b.contract.yaml", "a/a.contract.yaml", "a/other.yaml", "a/b/c.contract.yaml")
    touch(tmp_path, ".git/x.contract.yaml", ".venv/x.contract.yaml", "node_modules/x.contract.yaml")
    touch(tmp_path, "env/pyvenv.cfg", "env/lib/x.contract.yaml")
    assert names(tmp_path) == ["a/a.contract.yaml", "a/b/c.contract.yaml", "b.contract.yaml"]


def test_links_are_followed_once(tmp_path: Path) -> None:
    touch(tmp_path, "a/a.contract.yaml", "out/b.contract.yaml")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "a" / "out").symlink_to(tmp_path / "out", target_is_directory=True)
    (tmp_path / "a" / "twin.contract.yaml").symlink_to(tmp_path / "a" / "a.contract.yaml")
    (tmp_path / "a" / "gone.contract.yaml").symlink_to(tmp_path / "nothing")
    found = names(tmp_path, "a")
    assert "a/a.contract.yaml" in found and "a/out/b.contract.yaml" in found
    assert not any("loop" in name or "twin" in name for name in found)


def test_files_by_name(tmp_path: Path) -> None:
    touch(tmp_path, "a.contract.yaml", "other.yaml")
    assert names(tmp_path, "a.contract.yaml", "other.yaml", ".") == ["a.contract.yaml"]


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ContractLintError, match="does not exist"):
        names(tmp_path, "gone")
