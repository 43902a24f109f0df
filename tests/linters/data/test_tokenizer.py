"""Vocabularies, read from the files that tokenizers keep them in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from contract_lint.contracts.errors import ContractLintError
from contract_lint.linters.data.tokenizer import read_vocabulary

BPE = {
    "model": {"type": "BPE", "vocab": {"a": 0, "Ġb": 1, "Ċ": 2}},
    "added_tokens": [{"id": 3, "content": "<|end|>"}],
    "decoder": {"type": "ByteLevel"},
}
UNIGRAM = {"model": {"type": "Unigram", "vocab": [["<pad>", 0.0], ["▁a", -1.5]]}, "added_tokens": []}


def _piece(text: bytes) -> bytes:
    inner = b"\x0a" + bytes([len(text)]) + text + b"\x15\x00\x00\x80\xbf"
    return b"\x0a" + bytes([len(inner)]) + inner


@pytest.mark.parametrize(
    ("name", "content", "pieces"),
    [
        ("tokenizer.json", json.dumps(BPE), ["a", " b", "\n", "<|end|>"]),
        ("tokenizer.json", json.dumps(UNIGRAM), ["<pad>", "▁a"]),
        ("vocab.json", '{"b": 1, "a": 0}', ["a", "b"]),
        ("mine.json", '["a", "b"]', ["a", "b"]),
        ("vocab.txt", "[PAD]\na\n##b\n", ["[PAD]", "a", "##b"]),
        ("x.tiktoken", "YQ== 0\nIGI= 1\n", ["a", " b"]),
        ("tokenizer.model", _piece(b"<unk>") + _piece(b"</s>") + _piece("▁a".encode()), ["<unk>", "</s>", "▁a"]),
    ],
)
def test_pieces_by_id(tmp_path: Path, name: str, content: Any, pieces: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    vocabulary = read_vocabulary(path)
    assert [vocabulary.pieces[number] for number in range(vocabulary.size)] == pieces
    if name == "tokenizer.model":
        assert dict(vocabulary.special) == {"unk_id": 0, "eos_id": 1}


def test_a_folder_says_which_pieces_are_special(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(BPE))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|end|>", "pad_token": null}')
    assert dict(read_vocabulary(tmp_path).special) == {"eos_id": 3}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("vocab.json", '{"a": 0,\n "b"}', "vocab.json:2:5: is no JSON"),
        ("vocab.json", '{"a": 0, "a": 1}', "the key 'a' stands there twice"),
        ("vocab.json", '{"a": -1}', "is no number of at least 0"),
        ("vocab.json", '{"a": 1e3}', "is no number of at least 0"),
        ("vocab.json", "3", "holds no vocabulary"),
        ("vocab.json", "[" * 100_000, "is nested too deeply"),
        ("tokenizer.json", "{}", "holds no vocabulary"),
        ("tokenizer.json", "[]", "holds no vocabulary"),
        ("tokenizer.json", '{"model": {"vocab": [3]}}', "holds no vocabulary"),
        ("x.tiktoken", "YQ== 0\nYQ==\n", "x.tiktoken:2: is no line"),
        ("tokenizer.model", "hello", "is no SentencePiece model"),
        ("vocab.txt", "a\n\udcff", "vocab.txt:2: byte 0xff is not UTF-8"),
        ("weights.bin", "x", "holds no vocabulary that can be read"),
    ],
)
def test_damaged_files(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ContractLintError) as error:
        read_vocabulary(path)
    assert said in str(error.value)
