"""Leaves by their names, types and texts: what Orbax does not give back as it was saved is found, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.checkpoint.entries import faults_of_entries, faults_of_scalars, paths_of
from contract_lint.linters.checkpoint.evidence import CheckpointEvidence
from contract_lint.linters.checkpoint.folder import Folder
from contract_lint.linters.checkpoint.judge import judge_checkpoint
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.linters.checkpoint.strings import STRINGS, Texts, texts_of

CHILD = Path(__file__).with_name("leaves_child.py")


def _read(folder: Path, text: bytes | None, leaves: Mapping[str, str]) -> Texts:
    if text is not None:
        (folder / STRINGS).write_bytes(text)
    files = {STRINGS: len(text)} if text is not None else {}
    return texts_of(Folder(folder, "step"), "", files, leaves)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "_strings.json is not there"),
        (b"", "is no JSON"),
        (b'{"a.b":"x"', "is no JSON"),
        (b"[]", "is a list, not an object"),
        (b"{}", "_strings.json has no text for it"),
        (b'{"a.b":3}', "a/b is a number, not text"),
        (b'{"a.b":"x","a.b":"y"}', "is no JSON"),
        (b'{"a.b":"x","c":"y"}', "has texts that the tree does not name: c"),
        (b'{"a.b":"x"}', None),
    ],
)
def test_a_leaf_that_is_a_text_has_one(tmp_path: Path, text: bytes | None, said: str | None) -> None:
    told = _read(tmp_path, text, {"a/b": "a.b"})
    (found, *more) = [*(hole.what for hole in told.holes), *(fault.what for fault in told.faults)] or [None]
    assert (found is None) == (said is None) and not more
    assert said is None or (found is not None and said in found)
    assert (told.found == {"a/b": "x"}) == (said is None or "does not name" in said)
    assert [fault.severity for fault in told.faults if "does not name" in fault.what] in ([], ["info"])


def test_a_name_is_a_pointer(tmp_path: Path) -> None:
    told = _read(tmp_path, b'{"a":{"b":"x","c":{"0":"y"}},"d/e":"z"}', {"1": "a/b", "2": "a/c/0", "3": "d~1e"})
    assert told == Texts({"1": "x", "2": "y", "3": "z"})


def test_without_texts_the_file_is_not_looked_for(tmp_path: Path) -> None:
    assert _read(tmp_path, None, {}) == Texts()


def _tree(*leaves: tuple[tuple[str, ...], str, tuple[int, ...]]) -> dict[str, Any]:
    return {
        "tree_metadata": {
            str(keys): {
                "key_metadata": [{"key": key, "key_type": kind} for key, kind in zip(keys, kinds, strict=True)],
                "value_metadata": {"value_type": value, "skip_deserialize": value == "None"},
            }
            for keys, value, kinds in leaves
        }
    }


@pytest.mark.parametrize(
    ("leaves", "said"),
    [
        ([(("l", "0"), "jax.Array", (2, 1)), (("l.0",), "np.ndarray", (2,))], '"l/0" and "l.0" are both stored as l.0'),
        ([(("a", "b"), "string", (2, 2)), (("a.b",), "string", (2,))], '"a/b" and "a.b" are both stored as a.b'),
        ([(("a", "b"), "string", (2, 2)), (("a.b",), "scalar", (2,))], None),
        ([(("a", "b"), "None", (2, 2)), (("a.b",), "scalar", (2,))], None),
        ([(("a", "b"), "placeholder", (2, 2)), (("a.b",), "scalar", (2,))], None),
        ([(("l", "0"), "scalar", (2, 1)), (("l", "1"), "scalar", (2, 2))], "l is a list by one of l/0 and l/1"),
        ([(("l", "0"), "scalar", (2, 1)), (("l", "1"), "scalar", (2, 1))], None),
        ([(("0",), "scalar", (1,)), (("1",), "scalar", (2,))], "the tree is a list by one of 0 and 1"),
        ([(("l", "x"), "scalar", (2, 1))], 'l/x has the key "x" as that of a list, and it is no number'),
    ],
)
def test_entries_against_each_other(leaves: list[tuple[tuple[str, ...], str, tuple[int, ...]]], said: str) -> None:
    found = [fault.what for fault in faults_of_entries("_METADATA", _tree(*leaves))]
    assert len(found) == (said is not None) and all(said in what for what in found)


@pytest.mark.parametrize(("value", "shape", "wrong"), [("scalar", (2, 2), True), ("scalar", (), False)])
def test_a_number_is_stored_as_one(value: str, shape: tuple[int, ...], wrong: bool) -> None:
    metadata = _tree((("a", "b"), value, (2, 2)))
    found = [fault.what for fault in faults_of_scalars("_METADATA", metadata, {"a.b": shape})]
    assert found == (['a/b is of the type "scalar", and an array of [2, 2] is stored'] if wrong else [])


def test_two_leaves_have_two_paths() -> None:
    assert paths_of([("a", "b"), ("a/b",), ("c/d",)]) == ["a/b", '"a/b"', "c/d"]


@pytest.mark.slow
def test_what_orbax_does_not_give_back_is_found(tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint")
    done = subprocess.run([sys.executable, str(CHILD), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    same: dict[str, bool] = json.loads((tmp_path / "same.json").read_text())
    assert {*same.values()} == {True, False}
    assert {name: _passes(tmp_path / name) for name in same} == same


def _passes(step: Path) -> bool:
    try:
        found = judge_checkpoint(CheckpointEvidence(read_checkpoint(step)))
    except ContractLintError:
        return False
    return all(finding.severity == "info" for finding in found)
