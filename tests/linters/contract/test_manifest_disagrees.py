"""A contract held to the data manifest that it names: every promise that the file can show, and hostile files."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract_lint.contracts.data_manifest import DataFile, DataManifest, Tokenizer
from contract_lint.contracts.finding import Finding
from contract_lint.contracts.load import load_contract
from contract_lint.linters.contract.rules import manifest_disagrees, progress_fields

HEAD = "contract: 1\nname: n\nstep: { train: { entry: m:build } }\n"
ZEROS, ONES = "sha256:" + "0" * 64, "sha256:" + "1" * 64
MANIFEST = DataManifest(
    (
        DataFile("code/0.jsonl", "shard", 1, ZEROS),
        DataFile("tok/vocab.json", "tokenizer", 1, ZEROS),
        DataFile("web/0.jsonl", "shard", 1, ZEROS),
    ),
    Tokenizer(100, {"eos_id": 2, "unk_id": 3}),
)


FILE = "dataset: {{ manifest: data.json }}\n  "
TOKENIZER = FILE + "tokenizer: {{ vocab: 100"


def judge(folder: Path, data: str, manifest: str | None = MANIFEST.as_text()) -> list[Finding]:
    """Findings of a contract with these lines in `data`, beside this manifest."""
    if manifest is not None:
        (folder / "data.json").write_text(manifest)
    path = folder / "n.contract.yaml"
    path.write_text(f"{HEAD}data:\n  {data}\n")
    loaded = load_contract(path, root=folder)
    assert loaded.contract is not None, loaded.findings
    return list(manifest_disagrees.check(loaded))


@pytest.mark.parametrize(
    ("data", "bad", "good", "said"),
    [
        ("dataset: {{ manifest: data.json, root: '{}' }}", ONES, MANIFEST.root, "the digest of the files is another"),
        (TOKENIZER + ", sha256: '{}' }}", ONES, MANIFEST.tokenizer_digest, "the digest of the tokenizer is another"),
        (FILE + "tokenizer: {{ vocab: {} }}", 99, 128, "the vocabulary has 99 ids, and the tokenizer's files 100"),
        (TOKENIZER + ", eos_id: {} }}", 1, 2, "eos_id is 1, and 2 in the tokenizer's files"),
        (TOKENIZER + ", special: {{ unk_id: {}, mask: 7 }} }}", 1, 3, "unk_id is 1, and 3"),
        (FILE + "mixture: {{ web: 1, {}: 1 }}", "cod", "code", "the manifest has no source `cod`"),
    ],
)
def test_each_promise_and_its_good_twin(tmp_path: Path, data: str, bad: object, good: object, said: str) -> None:
    assert judge(tmp_path, data.format(good)) == []
    (found,) = judge(tmp_path, data.format(bad))
    assert found.message.startswith(said) and found.expected and found.found and str(bad) in found.found
    assert found.location is not None and found.location.path == "n.contract.yaml"
    assert found.evidence[-1].startswith("the manifest is data.json, named at n.contract.yaml:")


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (None, "data.json: no such file"),
        ("", "data.json"),
        ("[1]", "data.json: it is no data manifest"),
        ("PASSWORD=secret", "data.json: it is no data manifest"),
        (MANIFEST.as_text().replace("web/0", "../web/0"), "leads out of the folder"),
        (MANIFEST.as_text().replace('"bytes": 1', '"bytes": 2', 1), "it was edited or cut"),
        (MANIFEST.as_text() * 2, "data.json:"),
        ("[" * 10_000, "data.json"),
    ],
)
def test_a_manifest_that_cannot_be_used(tmp_path: Path, manifest: str | None, said: str) -> None:
    (found,) = judge(tmp_path, FILE.format(), manifest)
    assert found.code == "DAT008" and found.key == "data.dataset.manifest" and said in found.message
    assert "secret" not in f"{found}"


def test_a_name_that_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "data.json").mkdir()
    (found,) = judge(tmp_path, FILE.format(), None)
    assert "no such file" in found.message and found.help is not None and "batch manifest build" in found.help


def test_the_manifest_lies_beside_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "data.json").write_text(MANIFEST.as_text())
    (tmp_path / "base" / "b.contract.yaml").write_text("contract: 1\ndata: { dataset: { manifest: data.json } }\n")
    path = tmp_path / "n.contract.yaml"
    path.write_text(HEAD + "extends: [base/b.contract.yaml]\ndata: { mixture: { cod: 1 } }\n")
    (found,) = manifest_disagrees.check(load_contract(path, root=tmp_path))
    assert found.help == "did you mean `code`?" and "the manifest is base/data.json" in found.evidence[0]


def test_shards_in_no_folder_have_no_source_to_name(tmp_path: Path) -> None:
    flat = DataManifest((DataFile("0.jsonl", "shard", 1, ZEROS),)).as_text()
    assert judge(tmp_path, FILE.format() + "mixture: { web: 1 }", flat) == []
    (found,) = judge(tmp_path, TOKENIZER.format() + f", sha256: '{ONES}' }}", flat)
    assert found.message == "the manifest lists no file of a tokenizer"


def test_a_misspelt_field_is_named(tmp_path: Path) -> None:
    path = tmp_path / "n.contract.yaml"
    path.write_text(HEAD + "data: { progress: { fields: [step, tokns] } }\n")
    (found,) = progress_fields.check(load_contract(path, root=tmp_path))
    assert found.help == "is `tokns` meant to be `tokens`?" and found.message.startswith("11 of 12 fields")
