"""The files below a folder: every one of them, with its digest, and nothing that lies outside."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.data.tree import build_manifest


@pytest.fixture
def data(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    for path, text in {
        "web/1.jsonl": '{"a": 1}\n{"a": 2}\n',
        "web/2.jsonl": '{"a": 3}',
        "code/x/1.bin": "\0\1",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_every_file_is_hashed(data: Path) -> None:
    manifest = build_manifest(data)
    assert [entry.path for entry in manifest.files] == ["code/x/1.bin", "web/1.jsonl", "web/2.jsonl"]
    assert [entry.records for entry in manifest.files] == [None, 2, 1]
    for entry in manifest.files:
        content = (data / entry.path).read_bytes()
        assert entry.sha256 == "sha256:" + hashlib.sha256(content).hexdigest() and entry.bytes == len(content)


def test_one_byte_names_one_shard(data: Path) -> None:
    before = build_manifest(data)
    (data / "web/1.jsonl").write_text('{"a": 1}\n{"a": 9}\n')
    after = build_manifest(data)
    changed = [was.path for was, now in zip(before.files, after.files, strict=True) if was.sha256 != now.sha256]
    assert changed == ["web/1.jsonl"] and before.root != after.root
    assert before.source_digest("code") == after.source_digest("code")
    assert before.source_digest("web") != after.source_digest("web")


def test_the_same_files_give_the_same_text(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for entry in reversed(build_manifest(data).files):
        (other / entry.path).parent.mkdir(parents=True, exist_ok=True)
        (other / entry.path).write_bytes((data / entry.path).read_bytes())
    assert build_manifest(other).as_text() == build_manifest(data).as_text()


@pytest.mark.parametrize("kind", ["file", "folder", "dangling"])
def test_links_are_refused(data: Path, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    target = {"file": outside / "secret", "folder": outside, "dangling": tmp_path / "none"}[kind]
    (data / "web/link").symlink_to(target)
    with pytest.raises(ContractLintError, match="data/web/link: is a symbolic link"):
        build_manifest(data)


def test_what_is_no_file_is_refused(data: Path) -> None:
    os.mkfifo(data / "web/pipe")
    with pytest.raises(ContractLintError, match="neither a file nor a folder"):
        build_manifest(data)


def test_names_that_cannot_be_written_are_refused(data: Path) -> None:
    (data / "web/a\nb").write_text("x")
    with pytest.raises(ContractLintError, match="cannot stand in a manifest"):
        build_manifest(data)


def test_deep_folders_are_refused(data: Path) -> None:
    deep = data.joinpath(*["d"] * 80)
    deep.mkdir(parents=True)
    (deep / "x").write_text("x")
    with pytest.raises(ContractLintError, match="deeper than 64"):
        build_manifest(data)


def test_the_tokenizer_is_known_by_name_or_named(data: Path) -> None:
    (data / "tok").mkdir()
    (data / "tok/vocab.json").write_text('{"<pad>": 0, "</s>": 1, "a": 7}')
    (data / "tok/special_tokens_map.json").write_text('{"eos_token": {"content": "</s>"}, "pad_token": "<pad>"}')
    (data / "tok/rules.bin").write_text("x")
    manifest = build_manifest(data, tokenizer=["tok/rules.bin"])
    assert [entry.path for entry in manifest.files if entry.role == "tokenizer"] == [
        "tok/rules.bin",
        "tok/special_tokens_map.json",
        "tok/vocab.json",
    ]
    assert manifest.tokenizer is not None and manifest.tokenizer.vocab == 8
    assert dict(manifest.tokenizer.special) == {"eos_id": 1, "pad_id": 0}
    assert list(manifest.sources) == ["code", "web"]
    with pytest.raises(ContractLintError, match="no file of the tokenizer is `tokk`"):
        build_manifest(data, tokenizer=["tokk"])
