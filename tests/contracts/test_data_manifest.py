"""Data manifests: what they say follows from their files, and hostile ones are refused with their place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.data_manifest import DataFile, DataManifest, Tokenizer, read_manifest
from contract_lint.contracts.errors import ContractLintError


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


FILES = (
    DataFile("code/a.jsonl", "shard", 5, digest("a"), 1),
    DataFile("tok/vocab.json", "tokenizer", 2, digest("v")),
    DataFile("web/b.bin", "shard", 7, digest("b")),
    DataFile("web/c/d.jsonl", "shard", 9, digest("d"), 3),
)
MANIFEST = DataManifest(FILES, Tokenizer(8, {"pad_id": 0}))


def test_the_root_is_a_tree_of_digests() -> None:
    code = digest(f"file {digest('a')} a.jsonl\n")
    tok = digest(f"file {digest('v')} vocab.json\n")
    below = digest(f"file {digest('d')} d.jsonl\n")
    web = digest(f"file {digest('b')} b.bin\nfolder {below} c\n")
    assert MANIFEST.root == digest(f"folder {code} code\nfolder {tok} tok\nfolder {web} web\n")
    assert MANIFEST.tokenizer_digest == digest(f"folder {tok} tok\n")
    said = MANIFEST.as_json()
    assert said["sources"]["web"] == {"sha256": digest(f"folder {web} web\n"), "files": 2, "bytes": 16, "records": None}
    assert said["sources"]["code"]["records"] == 1


def test_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(MANIFEST.as_text())
    again = read_manifest(path)
    assert again.as_text() == MANIFEST.as_text() and again.tokenizer == MANIFEST.tokenizer
    assert [len(line) < 200 for line in path.read_text().splitlines()]


Edit = Callable[[dict[str, Any]], None]


def _path(name: str) -> Edit:
    return lambda data: data["files"][0].update(path=name)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_path("../a.jsonl"), "`../a.jsonl` leads out of the folder"),
        (_path("code/../../a"), "leads out of the folder"),
        (_path("/etc/passwd"), "is not relative to the folder"),
        (_path("C:/a"), "is not relative to the folder"),
        (_path("~root/a"), "is not relative to the folder"),
        (_path("a\\b"), "a backslash"),
        (_path("a\x00b"), "cannot be printed"),
        (_path("a\u202eb"), "cannot be printed"),
        (_path("./a"), "leads out of the folder or round about"),
        (_path("a//b"), "leads out of the folder or round about"),
        (_path(""), "is empty"),
        (_path("a/" * 70 + "b"), "deeper than 64 folders"),
        (_path("web/b.bin"), "`web/b.bin` is already listed in line"),
        (_path("web/b.bin/x"), "`web/b.bin` is a file, and `web/b.bin/x` lies below it"),
        (lambda data: data["files"][0].update(sha256="sha256:12"), "64 hexadecimal digits"),
        (lambda data: data["files"][0].update(sha256=digest("x")), "`root` is sha256:"),
        (lambda data: data["files"][0].update(bytes=6), "`bytes` is 5, and from its files follows 6"),
        (lambda data: data["files"][0].update(bytes=-1), "no whole number"),
        (lambda data: data["files"][0].update(bytes=True), "no whole number"),
        (lambda data: data["files"][0].update(role="model"), "must be `shard` or `tokenizer`"),
        (lambda data: data["files"][0].update(sha265="x"), "unknown key `sha265`"),
        (lambda data: data["files"][0].pop("path"), "has no key `path`"),
        (lambda data: data.update(files={}), "`files` is no list"),
        (lambda data: data.update(schema_version=2), "is not 1"),
        (lambda data: data.pop("root"), "has no key `root`"),
        (lambda data: data["sources"].pop("web"), "has no key `web`"),
    ],
)
def test_a_hostile_manifest_is_refused_with_its_place(tmp_path: Path, edit: Edit, said: str) -> None:
    data = MANIFEST.as_json()
    edit(data)
    path = tmp_path / "m.json"
    path.write_text(json.dumps(data, indent=1))
    with pytest.raises(ContractLintError) as error:
        read_manifest(path, "m.json")
    assert said in str(error.value)
    assert error.value.location is not None and error.value.location.line is not None


@pytest.mark.parametrize("text", ["[]", "3", '"x"', '{"schema_version": [1]}', ""])
def test_what_is_no_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ContractLintError, match=r"m.json:1:\d"):
        read_manifest(tmp_path / "m.json", "m.json")
