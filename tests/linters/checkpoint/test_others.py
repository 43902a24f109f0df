"""What lies beside the trees of two steps: texts, JSON and other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from contract_lint.linters.checkpoint.difference import difference
from contract_lint.linters.checkpoint.read import read_checkpoint
from contract_lint.plugins.pipeline.checkpoint_diff import checkpoint_diff

from .test_items import step

Change = tuple[str, str, str | None, str | None]


def _changes(a: Path, b: Path, *, values: bool = True) -> list[Change]:
    found = difference(read_checkpoint(a), read_checkpoint(b), values=values)
    return [(each.kind, each.path, each.before, each.after) for each in found]


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    pytest.importorskip("tensorstore")
    return step(tmp_path / "a"), step(tmp_path / "b")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"next": 1}, {"next": 2}, [("content", "next", "1", "2")]),
        ({"next": 1}, {"next": 1.0}, [("content", "next", "1", "1.0")]),
        ({"next": 1}, {"next": True}, [("content", "next", "1", "true")]),
        ({"next": 1, "b": 2}, {"b": 2, "next": 1}, []),
        ({"next": float("nan")}, {"next": float("nan")}, []),
        (
            {"a": {"b": [1, 2]}},
            {"a": {"b": [1, 3, 4]}},
            [("content", "a/b/1", "2", "3"), ("added", "a/b/2", None, "4")],
        ),
        ({"a": {"b": 1}}, {"a": [1]}, [("content", "a", "an object", "a list")]),
        ({"a": 1}, {}, [("removed", "a", "1", None)]),
        ({"a": "x" * 99}, {"a": "x" * 98 + "y"}, [("content", "a", '... "x"', '... "y"')]),
    ],
)
@pytest.mark.parametrize("values", [True, False])
def test_json_key_by_key(two: tuple[Path, Path], before: Any, after: Any, expected: list[Change], values: bool) -> None:
    for folder, value in zip(two, (before, after), strict=True):
        (folder / "data/metadata").write_text(json.dumps(value))
    told = [(kind, path.removeprefix("data/metadata: "), one, other) for kind, path, one, other in _changes(*two)]
    assert (
        told
        == expected
        == [
            (kind, path.removeprefix("data/metadata: "), one, other)
            for kind, path, one, other in _changes(*two, values=values)
        ]
    )
    same = checkpoint_diff(*map(str, two)).verdict == "the same leaves, and the same values"
    assert same == (not expected)


def test_of_many_keys_some_are_told(two: tuple[Path, Path]) -> None:
    for number, folder in enumerate(two):
        (folder / "data/metadata").write_text(json.dumps([number] * 1000))
    changes = _changes(*two)
    assert changes[-1] == ("content", "data/metadata", None, "800 keys more") and len(changes) == 201


def test_other_files_by_their_bytes(two: tuple[Path, Path]) -> None:
    for folder, data in zip(two, (b"one", b"two"), strict=True):
        (folder / "mine").mkdir()
        (folder / "mine/state.bin").write_bytes(data)
    ((kind, path, before, after),) = _changes(*two)
    assert (kind, path) == ("content", "mine/state.bin") and before != after
    assert _changes(*two, values=False) == []
    (two[1] / "mine/state.bin").unlink()
    assert _changes(*two) == [("removed", "mine/state.bin", "3 B", None)]


def test_texts_of_a_tree(two: tuple[Path, Path]) -> None:
    for folder, text in zip(two, ("one", "two"), strict=True):
        metadata = json.loads((folder / "state/_METADATA").read_text())
        entry = {
            "key_metadata": [{"key": "name", "key_type": 2}],
            "value_metadata": {"value_type": "string", "skip_deserialize": False},
        }
        metadata["tree_metadata"]["('name',)"] = entry
        (folder / "state/_METADATA").write_text(json.dumps(metadata))
        (folder / "state/_strings.json").write_text(json.dumps({"name": text}))
    assert _changes(*two) == [("content", "name", '"one"', '"two"')]
    assert _changes(two[0], two[0]) == []


def test_a_file_that_was_made_of_a_step_with_the_name_of_its_item(two: tuple[Path, Path], tmp_path: Path) -> None:
    from contract_lint.plugins.pipeline.convert.convert import convert

    (tmp_path / "m.yaml").write_text('rules: [{ from: "data", drop: true }, { from: "**", to: "**" }]')
    out = str(tmp_path / "out.safetensors")
    convert(str(two[0]), out, mapping=str(tmp_path / "m.yaml"))
    assert [change[:2] for change in _changes(two[0], Path(out))] == [("removed", "data/metadata")]
    assert [change[:2] for change in _changes(Path(out), two[0])] == [("added", "data/metadata")]
